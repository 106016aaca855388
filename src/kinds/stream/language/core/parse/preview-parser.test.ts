import assert from "node:assert/strict";
import { test } from "node:test";
import { DialectError } from "../dialect-error.ts";
import { parseStatements } from "./parse-statements.ts";
import { parsePreviewText } from "./preview-parser.ts";

test("[SY9] a preview is a query without a sink, with or without the word", () => {
  for (const text of ["PREVIEW SELECT ts FROM bids", " select ts from bids ; "]) {
    const { kind, query, rowsMax } = parsePreviewText(text);
    assert.deepEqual([kind, query.sinks, rowsMax], ["preview", [], undefined]);
  }
  const [statement] = parseStatements(
    "PREVIEW SELECT ts FROM bids LIMIT 7 SET(2 AS QUERY.PARALLELISM)",
  );
  assert.ok(statement?.kind === "preview");
  assert.deepEqual([statement.rowsMax, statement.query.settings.length], [7, 1]);
});

const refused: readonly [text: string, number: number, message: RegExp][] = [
  ["PREVIEW SELECT ts FROM bids INTO hot", 2000, /^a preview writes into no sink$/],
  ["PREVIEW SELECT ts FROM bids LIMIT 0", 1000, /shows 1 to 100000 rows, not 0/],
  ["PREVIEW SELECT ts FROM bids LIMIT 100001", 1000, /shows 1 to 100000 rows, not 100001/],
  ["PREVIEW SELECT ts FROM bids LIMIT 1.5", 1000, /not 1.5/],
  ["PREVIEW SELECT ts FROM bids LIMIT many", 2000, /expected a number of rows/],
  ["PREVIEW SELECT ts FROM (SELECT ts FROM bids LIMIT 3)", 2008, /LIMIT is not supported/],
  ["PREVIEW SHOW QUERIES", 2000, /expected SELECT/],
  ["PREVIEW SELECT ts FROM bids; SELECT 1", 2000, /expected the end of the statement/],
];
for (const [text, number, message] of refused) {
  test(`[SY9] refuses: ${text}`, () => {
    assert.throws(
      () => parsePreviewText(text),
      (thrown) => {
        assert.ok(thrown instanceof DialectError);
        assert.match(thrown.message, message);
        assert.equal(thrown.number, number);
        assert.ok(thrown.position !== undefined);
        return true;
      },
    );
  });
}
