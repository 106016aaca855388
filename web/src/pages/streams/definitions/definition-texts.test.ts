import assert from "node:assert/strict";
import { test } from "node:test";
import { schemaText, settingsText } from "./definition-texts.ts";

test("[WEB77] columns and settings read as statements write them", () => {
  const schema = [
    { name: "ts", type: { name: "UINT64", nullable: false } },
    { name: "price", type: { name: "FLOAT64", nullable: true } },
  ] as const;
  assert.equal(schemaText(schema), "ts UINT64 NOT NULL, price FLOAT64");
  const settings = { FIELD_DELIMITER: ",", TUPLE_DELIMITER: "\n", ROWS: 20, HEADER: false };
  assert.equal(
    settingsText(settings),
    "FIELD_DELIMITER = ',', TUPLE_DELIMITER = '\\n', ROWS = 20, HEADER = false",
  );
  assert.equal(settingsText({}), "");
});
