import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { testGoldenScript } from "../../../ground/kernel/testing/golden-script.ts";
import type { SourceSchema } from "./inline.ts";
import { planIncremental } from "./plan.ts";
import { initialSql, refreshSql } from "./refresh-sql.ts";
import { openTestDatabase, type TestDatabase } from "./testing/run-case.ts";

let database: TestDatabase;
before(async () => {
  database = await openTestDatabase();
});
after(() => database.close());

const sources: readonly SourceSchema[] = [
  {
    schema: "main",
    name: "orders",
    columns: [
      { name: "id", type: "BIGINT" },
      { name: "category", type: "VARCHAR" },
      { name: "amount", type: "DECIMAL(10,2)" },
      { name: "weight", type: "DOUBLE" },
      { name: "customer", type: "BIGINT" },
      { name: "tags", type: "VARCHAR[]" },
    ],
  },
  {
    schema: undefined,
    name: "customers",
    columns: [
      { name: "customer", type: "BIGINT" },
      { name: "name", type: "VARCHAR" },
    ],
  },
];
const plan = (definition: string) => planIncremental(definition, sources, database.tool);

testGoldenScript(join(import.meta.dirname, "testdata", "plan.slt"), async (definition) => {
  const planned = await plan(definition);
  return [planned.kind === "full" ? `full: ${planned.reason}` : `by ${planned.strategy}`];
});

test("[TI6] a plan is data: it can be stored and read again", async () => {
  const planned = await plan("SELECT category, sum(amount) AS s FROM orders GROUP BY category");
  assert.ok(planned.kind === "incremental");
  assert.deepEqual(planned.columns, [
    { name: "category", type: "VARCHAR" },
    { name: "s", type: "DECIMAL(38,2)" },
  ]);
  const stored = JSON.parse(JSON.stringify(planned)) as typeof planned;
  const names = {
    source: (source: number, rows: string) => `s${source}_${rows}`,
    stored: "stored",
    storedKey: ["_row_id"],
    temporary: (name: string) => name,
  };
  assert.equal(initialSql(stored, names), initialSql(planned, names));
  const facts = { changes: [{ added: 1, removed: 1 }] };
  assert.deepEqual(refreshSql(stored, names, facts), refreshSql(planned, names, facts));
});

test("[TI7] minima are merged while rows only come, and computed again otherwise", async () => {
  const planned = await plan("SELECT category, min(amount) FROM orders GROUP BY category");
  assert.ok(planned.kind === "incremental");
  const names = {
    source: (source: number, rows: string) => `s${source}_${rows}`,
    stored: "stored",
    storedKey: ["_row_id"],
    temporary: (name: string) => name,
  };
  const way = (removed: number) =>
    refreshSql(planned, names, { changes: [{ added: 1, removed }] }).way;
  assert.equal(way(0), "merge");
  assert.equal(way(1), "keys");
});
