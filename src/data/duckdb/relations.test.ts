import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { DuckDBInstance } from "@duckdb/node-api";
import type { Relation } from "./engine-messages.ts";
import { never, startTestEngine, type TestEngine } from "./testing/test-engine.ts";

const lakeDir = `/tmp/capstan-relations-${process.pid}`;
mkdirSync(lakeDir, { recursive: true });
const file = join(lakeDir, "orders.parquet");
const instance = await DuckDBInstance.create(":memory:");
const connection = await instance.connect();
await connection.run(`COPY (SELECT range AS id, range * 2 AS amount FROM range(10)) TO '${file}'`);
connection.closeSync();

const running: TestEngine = await startTestEngine({ readableDirs: [lakeDir] });
after(() => running.close());

const orders: Relation = {
  schema: "main",
  name: "orders",
  sql: `SELECT * FROM read_parquet('${file}')`,
};
const odd: Relation = { schema: 'sales "x"', name: "a; DROP", sql: "SELECT 7 AS seven" };

async function textOf(sql: string, relations: readonly Relation[]): Promise<string> {
  const { engine } = running;
  const path = running.path();
  await engine.executeToParquet(sql, path, never, undefined, relations);
  const rows = await engine.openRows(path, never);
  let text = "";
  for await (const chunk of rows) text += Buffer.from(chunk).toString();
  return text.trim();
}

test("[QE1] a statement reads the relations that it is given, by any of their names", async () => {
  assert.equal(await textOf("SELECT sum(amount) FROM orders", [orders]), "[90]");
  assert.equal(await textOf("SELECT count(*) FROM main.orders o WHERE o.id > 4", [orders]), "[5]");
  const joined = 'SELECT seven + max(id) FROM "sales ""x"""."a; DROP", ORDERS GROUP BY seven';
  assert.equal(await textOf(joined, [orders, odd]), "[16]");
});

test("[QE1] no other statement sees them, then or later", async () => {
  const others = Array.from({ length: 6 }, (_, index) =>
    index % 2 === 0
      ? textOf("SELECT count(*) FROM orders", [orders])
      : assert.rejects(textOf("SELECT count(*) FROM orders", []), /does not exist/),
  );
  await Promise.all(others);
  await assert.rejects(textOf("SELECT nothing FROM orders", [orders]), /nothing/);
  await assert.rejects(textOf("SELECT 1 FROM orders", []), /does not exist/);
});

test("[QE1] neither other catalogs nor DuckDB's own can be read, and no file by its name", async () => {
  const refused = [
    "SELECT * FROM statement_0.main.orders",
    "SELECT * FROM information_schema.views",
    "SELECT * FROM pg_catalog.pg_views",
    "SELECT * FROM pg_views",
    "SELECT * FROM duckdb_views",
    "SELECT * FROM duckdb_views()",
    "SELECT * FROM sqlite_master",
    `SELECT * FROM read_parquet('${file}')`,
    `SELECT * FROM '${file}'`,
  ];
  for (const sql of refused)
    await assert.rejects(textOf(sql, [orders]), /cannot be (read|used) here/);
});

test("[QE1] a cancelled statement leaves no relation behind", async () => {
  const slow = "SELECT count(*) FROM orders a, orders b, range(100000) c, range(100000) d";
  for (let round = 0; round < 5; round += 1) {
    const controller = new AbortController();
    const { engine, path } = running;
    const asked = engine.executeToParquet(slow, path(), controller.signal, undefined, [orders]);
    setImmediate(() => controller.abort());
    await assert.rejects(asked, { code: "cancelled" });
  }
  await assert.rejects(textOf("SELECT 1 FROM orders", []), /does not exist/);
  assert.equal(await textOf("SELECT count(*) FROM orders", [orders]), "[10]");
});
