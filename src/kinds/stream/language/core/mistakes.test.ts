import { join } from "node:path";
import { testGoldenScript } from "../../../../ground/kernel/testing/golden-script.ts";
import { defaultDialect } from "./dialect-settings.ts";
import { parseStatements } from "./parse/parse-statements.ts";
import { planQuery } from "./plan-statement.ts";
import { errorOf, exampleCatalog } from "./testing.ts";

testGoldenScript(join(import.meta.dirname, "..", "testdata", "mistakes.slt"), (text) => {
  const catalog = exampleCatalog();
  const { number, errorName, message, position, hint } = errorOf(() => {
    for (const statement of parseStatements(text)) {
      if (statement.kind === "query") planQuery(statement.query, catalog, defaultDialect);
      else catalog.apply(statement);
    }
  });
  const place = position === undefined ? "no place" : `${position.line}:${position.column}`;
  return [`${number} ${errorName} at ${place}: ${message}`, ...(hint === undefined ? [] : [hint])];
});
