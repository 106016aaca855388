import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { SourceSchema } from "./inline.ts";
import { type IncrementalPlan, planIncremental } from "./plan.ts";
import { initialSql, type RefreshNames, refreshSql } from "./refresh-sql.ts";
import { openTestDatabase, type TestDatabase } from "./testing/run-case.ts";

let database: TestDatabase;
before(async () => {
  database = await openTestDatabase();
});
after(() => database.close());

const columns = [
  { name: "k", type: "INTEGER" },
  { name: "x", type: "INTEGER" },
];
const sources: readonly SourceSchema[] = [
  { schema: undefined, name: "a", columns },
  { schema: undefined, name: "b", columns },
];
const names: RefreshNames = {
  source: (source, rows) => `s${source}_${rows}`,
  stored: "stored",
  storedKey: ["_row_id"],
  temporary: (name) => `x_${name}`,
};

async function plan(definition: string): Promise<IncrementalPlan> {
  const planned = await planIncremental(definition, sources, database.tool);
  assert.ok(planned.kind === "incremental", planned.reason);
  return planned;
}

test("[TI10] sources without changes are not searched, and read as they are", async () => {
  const planned = await plan("SELECT a.x, b.x AS y FROM a FULL JOIN b ON a.k = b.k");
  const nothing = refreshSql(planned, names, { changes: [none, none] });
  assert.equal(nothing.way, "none");
  assert.deepEqual(nothing.statements, []);
  const { statements, deletes, inserts } = refreshSql(planned, names, { changes: [some, none] });
  const all = [...statements, deletes, inserts].join("\n");
  assert.match(all, /s0_added/);
  assert.match(all, /s0_removed/);
  assert.doesNotMatch(all, /s1_(added|removed|old)/);
});

test("[TI11] values that SQL leaves open may be shown", async () => {
  await plan("SELECT k, any_value(x) AS v FROM a GROUP BY k");
  await plan("SELECT * FROM a QUALIFY row_number() OVER (PARTITION BY k ORDER BY x) = 1");
});

test("[TI12] a merge into a state that is not the sources' old image fails, and is not published", async () => {
  const planned = await plan("SELECT k, count(*) AS n FROM a GROUP BY k");
  const { connection } = database;
  for (const rows of ["new", "old", "added", "removed"]) {
    await connection.run(`CREATE TEMP TABLE s0_${rows} (k INTEGER, x INTEGER, _row_id BIGINT)`);
  }
  await connection.run(
    `CREATE TEMP TABLE stored AS SELECT 1 AS _row_id, * FROM (${initialSql(planned, names)})`,
  );
  await connection.run("INSERT INTO s0_removed VALUES (1, 1, 1)");
  const refresh = refreshSql(planned, names, { changes: [{ added: 0, removed: 1 }, none] });
  assert.equal(refresh.way, "merge");
  for (const statement of refresh.statements) await connection.run(statement);
  await assert.rejects(connection.run(refresh.inserts), /fewer than no rows/);
  for (const statement of refresh.cleanup) await connection.run(statement);
  const left = await connection.runAndReadAll(
    "SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'x_%'",
  );
  assert.deepEqual(left.getRows(), [[0n]]);
});

const none = { added: 0, removed: 0 };
const some = { added: 1, removed: 1 };
