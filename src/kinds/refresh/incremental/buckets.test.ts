/** Buckets of random definitions in a real DuckDB: `CAPSTAN_BUCKET_CASES` of them. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { bucketSql, decideBuckets } from "./buckets.ts";
import { type IncrementalPlan, planIncremental } from "./plan.ts";
import { initialSql } from "./refresh-sql.ts";
import { type Case, randomCase } from "./testing/random-case.ts";
import { firstState, names, openTestDatabase, printCase } from "./testing/run-case.ts";

const casesMax = Number(process.env.CAPSTAN_BUCKET_CASES ?? 120);
const database = await openTestDatabase();
after(() => database.close());
const { connection, tool } = database;

async function one(sql: string): Promise<Readonly<Record<string, unknown>>> {
  const [row] = (await connection.runAndReadAll(sql)).getRowObjects();
  assert.ok(row !== undefined);
  return row;
}

/** SQL for the rows of all buckets, each with its bucket's number. */
function bucketsOf(plan: IncrementalPlan, columns: readonly string[], buckets: number): string {
  return Array.from({ length: buckets }, (_, bucket) => {
    const sql = bucketSql(plan, names, columns, bucket, buckets);
    return `(SELECT ${bucket} AS _bucket, * FROM (${sql}))`;
  }).join(" UNION ALL ");
}

function rowCounts({ states }: Case): readonly number[] {
  return (states[0] ?? []).map(({ length }) => length);
}

test("[TP1] all buckets together are the definition's rows, each once, for random definitions", async () => {
  let split = 0;
  let whole = 0;
  let spread = 0;
  for (let index = 0; split < casesMax; index += 1) {
    const tested = randomCase(`buckets-${index}`);
    const plan = await planIncremental(tested.definition, tested.sources, tool);
    const buckets = 2 + (index % 4);
    const chosen = decideBuckets(plan, rowCounts(tested));
    if (chosen.kind === "whole" || plan.kind === "full") {
      if (plan.kind === "incremental") whole += 1;
      continue;
    }
    split += 1;
    const all = bucketsOf(plan, chosen.columns, buckets);
    await connection.run(firstState(tested));
    const found = await one(`
      WITH parts AS MATERIALIZED (${all}), wanted AS MATERIALIZED (${initialSql(plan, names)})
      SELECT (SELECT first(CAST(r AS VARCHAR)) FROM (FROM wanted EXCEPT ALL SELECT * EXCLUDE (_bucket) FROM parts) AS r) AS missing,
             (SELECT count(*) FROM parts) - (SELECT count(*) FROM wanted) AS more,
             (SELECT count(DISTINCT _bucket) FROM parts) AS used`);
    const where = `${printCase(tested)}\n${all}\n${String(found.missing)} ${String(found.more)}`;
    assert.ok(found.missing === null && found.more === 0n, where);
    if (Number(found.used) > 1) spread += 1;
  }
  assert.ok(spread > split / 3, `rows of ${spread} of ${split} are in several buckets`);
  assert.ok(whole < split / 2, `${whole} definitions have no buckets, ${split} have`);
});

const sources = ["a", "b"].map((name) => ({
  schema: "main",
  name,
  columns: [
    { name: "k", type: "BIGINT" },
    { name: "v", type: "BIGINT" },
  ],
}));

const shapes: Readonly<Record<string, string>> = {
  groups: "SELECT k % 40 AS m, sum(v) AS s FROM a GROUP BY k % 40",
  "groups of a join": "SELECT a.k, avg(b.v) AS s FROM a JOIN b ON a.k = b.k GROUP BY a.k",
  "joined rows": "SELECT a.k, b.v FROM a JOIN b ON a.k = b.k WHERE a.v > 3",
  "outer joined rows": "SELECT a.k, b.v FROM a LEFT JOIN b ON a.k = b.k",
  windows: "SELECT k, v, sum(v) OVER (PARTITION BY k) AS s FROM a",
  "distinct rows": "SELECT DISTINCT k FROM a",
  differences: "SELECT k FROM a EXCEPT SELECT k FROM b",
  unions: "SELECT k FROM a UNION ALL SELECT v FROM b",
  "groups of groups":
    "SELECT k, count(*) AS n FROM (SELECT k, v, count(*) AS c FROM a GROUP BY k, v) GROUP BY k",
};

interface Operator {
  readonly name: string;
  readonly extra_info: unknown;
  readonly children: readonly Operator[];
}

/** Operators below the bucket's condition, which see rows of all buckets. */
function above({ name, extra_info, children }: Operator, isDone = false): readonly string[] {
  const isHere = isDone || /hash\(/.test(JSON.stringify(extra_info));
  const below = children.flatMap((child) => above(child, isHere));
  return /GROUP_BY|WINDOW|JOIN/.test(name) && isHere ? [...below, name] : below;
}

for (const [shape, definition] of Object.entries(shapes)) {
  test(`[TP1] buckets are chosen below what is computed of them: ${shape}`, async () => {
    const tables = sources.map(
      (_, index) => `CREATE OR REPLACE TEMP TABLE s${index} AS
        SELECT range AS _row_id, range % 50 AS k, range AS v, true AS was, true AS "is" FROM range(${1000 - 970 * index})`,
    );
    await connection.run(tables.join(";\n"));
    const plan = await planIncremental(definition, sources, tool);
    assert.ok(plan.kind === "incremental");
    const chosen = decideBuckets(plan, [1000, 1000]);
    assert.ok(chosen.kind === "buckets");
    const sql = bucketSql(plan, names, chosen.columns, 0, 2);
    const explained = await one(`EXPLAIN (FORMAT json) ${sql}`);
    const [root] = JSON.parse(String(explained.explain_value)) as [Operator];
    assert.deepEqual(above(root), [], String(explained.explain_value));
    const counts = await one(
      `SELECT (SELECT count(*) FROM (${sql})) AS part, (SELECT count(*) FROM (${initialSql(plan, names)})) AS "all"`,
    );
    assert.ok(Number(counts.part) > 0 && Number(counts.part) < Number(counts.all));
  });
}

test("[TP2] a definition without such columns is not split, and says why", async () => {
  const reasons = new Map([
    ["SELECT sum(v) AS s FROM a", /no source's rows/],
    ["SELECT a.v, b.v AS w FROM a FULL JOIN b ON a.k = b.k", /no source's rows/],
    ["SELECT k FROM a ORDER BY v LIMIT 3", /LIMIT/],
    ["SELECT k, random() AS r FROM a", /random/],
  ]);
  for (const [definition, wanted] of reasons) {
    const plan = await planIncremental(definition, sources, tool);
    const chosen = decideBuckets(plan, [1, 1]);
    assert.ok(chosen.kind === "whole", definition);
    assert.match(chosen.reason, wanted);
  }
});
