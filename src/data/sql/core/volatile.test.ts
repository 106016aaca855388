import assert from "node:assert/strict";
import { test } from "node:test";
import type { SelectTree } from "./select-tree.ts";
import { testDuckDb } from "./testing/duckdb.ts";
import { functionsOf, volatilePartsOf } from "./volatile.ts";

const isVolatile = (tree: SelectTree): boolean => volatilePartsOf(tree).length > 0;

const duckdb = testDuckDb();

const cases: readonly (readonly [sql: string, parts: readonly string[]])[] = [
  ["SELECT a + 1, upper(b), sum(c) OVER (), age(e, f) FROM t", []],
  ["SELECT random() FROM t", ["random()"]],
  ["SELECT a FROM t WHERE e > now() - INTERVAL 1 DAY", ["now()"]],
  ["SELECT current_date, CURRENT_TIMESTAMP", ["current_date", "current_timestamp"]],
  ["SELECT t.current_date FROM t", []],
  [
    "SELECT * FROM (SELECT UUID() AS id FROM t) WHERE EXISTS (SELECT nextval('s'))",
    ["uuid()", "nextval()"],
  ],
  ["WITH c AS (SELECT today() AS d) SELECT * FROM c", ["today()"]],
  ["SELECT age(e) FROM t", ["age()"]],
  ["SELECT ago(INTERVAL 1 DAY)", ["ago()"]],
  ["SELECT * FROM t USING SAMPLE 5", ["a sample"]],
  ["SELECT * FROM t TABLESAMPLE 10%", ["a sample"]],
  ["SELECT * FROM duckdb_tables()", ["duckdb_tables()"]],
  ["SELECT * FROM range(3)", []],
  ["SELECT list_transform(f, lambda x : x + random()) FROM t", ["random()"]],
  ["SELECT a FROM t ORDER BY random()", ["random()"]],
  ["SELECT sum(random()) OVER (ORDER BY a) FROM t", ["random()"]],
];
for (const [sql, parts] of cases) {
  test(`[SQ25] volatile in ${sql}: ${parts.join(", ") || "nothing"}`, async () => {
    const tree = await duckdb.tree(sql);
    assert.deepEqual(new Set(volatilePartsOf(tree)), new Set(parts));
  });
}

test("[SQ25] every function that DuckDB itself calls volatile is so here", async () => {
  const rows = await duckdb.rows(
    "SELECT DISTINCT function_name FROM duckdb_functions() WHERE stability <> 'CONSISTENT' ORDER BY 1",
  );
  assert.ok(rows.length > 20);
  // DuckDB calls error() volatile so that it is not computed early, but its effect is constant.
  for (const [name] of rows.filter(([each]) => each !== "error")) {
    assert.ok(isVolatile(await duckdb.tree(`SELECT "${String(name)}"(1)`)), String(name));
  }
});

test("[SQ25] so is every macro that is made of one", async () => {
  const rows = await duckdb.rows(`
    SELECT function_name, macro_definition FROM duckdb_functions()
    WHERE function_type = 'macro' AND macro_definition IS NOT NULL`);
  assert.ok(rows.length > 50);
  for (const [name, definition] of rows) {
    const inside = await duckdb.tree(`SELECT ${String(definition)}`).catch(() => undefined);
    if (inside === undefined || !isVolatile(inside)) continue;
    assert.ok(isVolatile(await duckdb.tree(`SELECT "${String(name)}"(1)`)), String(name));
  }
});

test("[SQ24] functions are found wherever they are called", async () => {
  const sql = `SELECT Upper(b), row_number() OVER (ORDER BY lower(b)) FROM range(3), t
    WHERE a IN (SELECT abs(x) FROM u) GROUP BY ALL HAVING count(*) > 1`;
  const found = functionsOf(await duckdb.tree(sql));
  for (const name of ["upper", "row_number", "lower", "range", "abs", "count_star"]) {
    assert.ok(found.has(name), name);
  }
});
