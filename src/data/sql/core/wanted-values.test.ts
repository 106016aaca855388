import assert from "node:assert/strict";
import { test } from "node:test";
import { testDuckDb } from "./testing/duckdb.ts";
import { wantedValues } from "./wanted-values.ts";

const duckdb = testDuckDb();

/** The wanted values of `id` of `t`; undefined for everything. */
const cases: readonly (readonly [sql: string, values: readonly string[] | undefined])[] = [
  ["SELECT * FROM t WHERE id = 'x'", ["x"]],
  ["SELECT * FROM t WHERE 'it''s' = ID", ["it's"]],
  ["SELECT * FROM T AS m WHERE m.id = 'x' AND a > 3 AND (b OR c)", ["x"]],
  ["SELECT * FROM main.t WHERE id IN ('x', 'y')", ["x", "y"]],
  ["WITH c AS (SELECT * FROM t WHERE id = 'x') SELECT * FROM c WHERE id = 'z'", ["x"]],
  ["SELECT * FROM t WHERE id = 'x' UNION ALL SELECT * FROM t WHERE id = 'y'", ["x", "y"]],
  ["SELECT * FROM t m JOIN u ON m.id = u.id WHERE m.id = 'x'", ["x"]],
  ["SELECT * FROM u, t WHERE t.id = 'x' AND u.id = 'y'", ["x"]],
  ["SELECT * FROM u WHERE EXISTS (SELECT 1 FROM t WHERE t.id = 'x' AND t.a = u.a)", ["x"]],
  ["SELECT * FROM t", undefined],
  ["SELECT * FROM t WHERE id = 'x' OR a", undefined],
  ["SELECT * FROM t WHERE NOT id = 'x'", undefined],
  ["SELECT * FROM t WHERE id <> 'x'", undefined],
  ["SELECT * FROM t WHERE id NOT IN ('x')", undefined],
  ["SELECT * FROM t WHERE id IN (SELECT id FROM u)", undefined],
  ["SELECT * FROM t WHERE id IN ('x', a)", undefined],
  ["SELECT * FROM t WHERE id = NULL", undefined],
  ["SELECT * FROM t WHERE id = 7", undefined],
  ["SELECT * FROM t WHERE id COLLATE NOCASE = 'x'", undefined],
  ["SELECT * FROM t WHERE lower(id) = 'x'", undefined],
  ["SELECT * FROM t WHERE other = 'x'", undefined],
  ["SELECT * FROM t AS m(a, id) WHERE id = 'x'", undefined],
  ["SELECT * FROM t TABLESAMPLE 10 ROWS WHERE id = 'x'", undefined],
  ["SELECT * FROM t WHERE id = 'x' USING SAMPLE 10 ROWS", undefined],
  ["SELECT * FROM t POSITIONAL JOIN u WHERE t.id = 'x'", undefined],
  ["SELECT * FROM t LEFT JOIN u USING (id) WHERE t.id = 'x'", undefined],
  ["SELECT * FROM t, u WHERE id = 'x'", undefined],
  ["SELECT * FROM t, u WHERE u.id = 'x'", undefined],
  ["SELECT * FROM t, s.t WHERE t.id = 'x'", undefined],
  ["SELECT * FROM t WHERE id = 'x' UNION ALL SELECT * FROM t", undefined],
  ["SELECT (SELECT count(*) FROM t) FROM t WHERE id = 'x'", undefined],
  ["SELECT * FROM (FROM t) WHERE id = 'x'", undefined],
  ["SELECT * FROM t QUALIFY row_number() OVER () = 1", undefined],
  ["SUMMARIZE t", undefined],
];
for (const [sql, values] of cases) {
  test(`[SQ27] ${sql}: ${values?.join() ?? "everything"}`, async () => {
    const wanted = wantedValues(await duckdb.tree(sql), "t", "id");
    assert.deepEqual(wanted && [...wanted], values);
  });
}

test("[SQ27] too many values are as good as everything", async () => {
  const texts = Array.from({ length: 501 }, (_, nth) => `'${nth}'`);
  const sql = `SELECT * FROM t WHERE id IN (${texts.join()})`;
  assert.equal(wantedValues(await duckdb.tree(sql), "t", "id"), undefined);
});
