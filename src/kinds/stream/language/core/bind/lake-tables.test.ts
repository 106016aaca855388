import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultDialect } from "../dialect-settings.ts";
import { LocalCatalog } from "../local-catalog.ts";
import { parseStatements } from "../parse/parse-statements.ts";
import { planQuery } from "../plan-statement.ts";
import { errorOf, examplePlan } from "../testing.ts";

const lakeSource = (columns: string, table = "customers", more = ""): string =>
  `CREATE LOGICAL SOURCE c(${columns});
   CREATE PHYSICAL SOURCE FOR c TYPE Lake SET('${table}' AS "SOURCE".TABLE${more});`;

test("[SY82] a Lake source has columns of its table, in types that hold their values", () => {
  const refused = (columns: string, table?: string, more?: string) =>
    errorOf(() => examplePlan(`${lakeSource(columns, table, more)} SELECT * FROM c INTO Void();`));
  examplePlan(`${lakeSource("city VARSIZED, id INT64 NOT NULL")} SELECT * FROM c INTO Void();`);
  assert.equal(refused("id INT16").number, 2003);
  assert.match(refused("nothing INT16").message, /customers has no column nothing/);
  assert.equal(refused("id INT32", "custom").number, 2030);
  assert.equal(refused("id INT32", "customers", `, 'x' AS "SOURCE".START`).number, 1000);
});

test("[SY82] without a lake a table is refused with what to do", () => {
  const catalog = new LocalCatalog(defaultDialect);
  const [statement] = parseStatements(
    `SELECT v FROM File('a' AS "SOURCE".FILE_PATH, SCHEMA(v INT8) AS "SOURCE"."SCHEMA")
       INTO Lake('t' AS "SINK".TABLE)`,
  );
  assert.ok(statement?.kind === "query");
  const error = errorOf(() => planQuery(statement.query, catalog, defaultDialect));
  assert.equal(error.number, 2008);
  assert.match(error.hint ?? "", /--data-dir/);
});
