/** Tables over HTTP, on a real store, lake and engine. No refresh runs here. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startLakeCluster } from "../../../data/lake/statements/testing/lake-cluster.ts";
import type { QueriesPort } from "../../../data/statements/index.ts";
import { startApi } from "../../../faces/api/index.ts";
import {
  apiConfig,
  bothTokens,
  FakeCluster,
  operateToken,
  readToken,
} from "../../../faces/api/testing/fake-ports.ts";
import { eventually } from "../../../ground/kernel/testing/eventually.ts";
import { createTablesPort } from "./tables-port.ts";

const lake = await startLakeCluster();
const fake = new FakeCluster();
/** Statements that have not been answered yet. */
const underWay = new Set<string>();
const queries: QueriesPort = {
  list: () => [],
  cancel: () => false,
  sql: async (sql, { mayWrite, timeoutMs = 20_000 }, signal) => {
    const run = lake.statements.run(sql, { mayWrite, timeoutMs, uploadId: undefined }, signal);
    underWay.add(sql);
    return await run.finally(() => underWay.delete(sql));
  },
};
fake.tables = createTablesPort(lake.store, queries);
const api = await startApi(apiConfig(bothTokens), fake.ports());
const none = await startApi(apiConfig(), {
  ...new FakeCluster().ports(),
  routes: [],
  absent: "this process has no store: it answers queries only",
});
after(async () => {
  for (const each of [api, none]) {
    each.drain();
    each.force();
    await each.close();
  }
  await lake.close();
});

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of many shapes, looked at field by field.
  readonly body: any;
}

async function ask(path: string, method = "GET", token = operateToken): Promise<Answer> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${api.url}/api/v1/${path}`, { method, headers });
  return { status: response.status, body: await response.json() };
}

await lake.rows("CREATE TABLE orders (id BIGINT, category VARCHAR DEFAULT 'none', amount INTEGER)");
await lake.rows("INSERT INTO orders VALUES (1, 'a', 10), (2, 'b', 20), (3, 'b', 30)");
await lake.rows("DELETE FROM orders WHERE id = 1");
await lake.rows(
  "CREATE DYNAMIC TABLE revenue TARGET_LAG = DOWNSTREAM AS SELECT category, sum(amount) AS total FROM orders GROUP BY category",
);
await lake.rows(
  `CREATE DYNAMIC TABLE "big sales" TARGET_LAG = '1 minute' REFRESH_MODE = FULL AS SELECT * FROM revenue WHERE total > 5`,
);

test("[AP34] tables of the lake have columns, sizes and readers; deleted rows do not count", async () => {
  const { body } = await ask("tables");
  assert.deepEqual(
    body.items.map((table: { name: string; kind: string }) => [table.name, table.kind]),
    [
      ['"big sales"', "dynamic"],
      ["orders", "plain"],
      ["revenue", "dynamic"],
    ],
  );
  const { body: orders } = await ask("tables/orders");
  assert.deepEqual(orders.columns[1], {
    name: "category",
    type: "VARCHAR",
    nullable: true,
    default: "'none'",
  });
  assert.deepEqual(
    [orders.row_count, orders.file_count, orders.readers, orders.changed_snapshot],
    [2, 2, ["revenue"], body.snapshot - 2],
  );
  assert.ok(orders.size_bytes > 0);
  // The hidden columns of a dynamic table are not shown.
  const { body: revenue } = await ask("tables/revenue");
  assert.deepEqual(
    revenue.columns.map(({ name }: { name: string }) => name),
    ["category", "total"],
  );
});

test("[AP34] lists follow their tokens, and miss nothing", async () => {
  const names: string[] = [];
  let token = "";
  do {
    const { body } = await ask(`tables?limit=2${token}`);
    names.push(...body.items.map(({ name }: { name: string }) => name));
    token = body.next_page_token === null ? "" : `&page_token=${body.next_page_token}`;
  } while (token !== "");
  assert.deepEqual(names, ['"big sales"', "orders", "revenue"]);
});

test("[AP35] a dynamic table says what SHOW DYNAMIC TABLES does, by name of sources and readers", async () => {
  const { body } = await ask("dynamic-tables");
  assert.ok(body.now_ms > 0);
  const revenue = body.items.find(({ name }: { name: string }) => name === "revenue");
  assert.deepEqual(revenue.sources, [{ name: "orders", kind: "plain" }]);
  assert.deepEqual(revenue.readers, ['"big sales"']);
  assert.deepEqual(
    [revenue.target_lag_ms, revenue.effective_target_lag_ms, revenue.lag_ms, revenue.status],
    [null, 60_000, null, "INITIALIZING"],
  );
  const { body: sales } = await ask(`dynamic-tables/${encodeURIComponent('"big sales"')}`);
  assert.equal(sales.definition, "SELECT * FROM revenue WHERE total > 5");
  assert.deepEqual([sales.mode, sales.mode_reason], ["FULL", "as asked for"]);
  assert.deepEqual(sales.sources, [{ name: "revenue", kind: "dynamic" }]);
  assert.equal(sales.table.columns.length, 2);
});

test("[AP35] its history comes in pages, and says how its lag went", async () => {
  const { body: before } = await ask("dynamic-tables/revenue");
  const at = (number: number): number => before.now_ms - 60_000 + number * 1_000;
  await lake.store.transaction(async ({ db }) => {
    for (const number of [1, 2, 3]) {
      const failed = number === 2;
      await db
        .insertInto("refresh_history")
        .values({
          dynamic_table: "revenue",
          refresh_number: number,
          table_id: before.table_id,
          token: number,
          state: failed ? "FAILED" : "SUCCEEDED",
          action: failed ? null : "FULL",
          refresh_trigger: "SCHEDULED",
          attempt: 1,
          started_at_ms: at(number),
          ended_at_ms: at(number) + 200,
          source_snapshot: failed ? null : 3,
          data_time_ms: failed ? null : at(number),
          snapshot: failed ? null : 6,
          rows_inserted: failed ? 0 : 2,
          rows_deleted: 0,
          reason: failed ? "" : "the first",
          compute_ms: null,
          changed_rows: null,
          total_rows: null,
          part_count: 1,
          worker_count: 1,
          worker_id: "worker-1",
          error_code: failed ? "bad_sql" : null,
          error_message: failed ? "no such column" : null,
          repeats: 1,
        })
        .execute();
    }
  });
  const first = await ask("dynamic-tables/revenue/history?limit=2");
  assert.deepEqual(
    first.body.items.map(({ number, error }: { number: number; error: unknown }) => [
      number,
      error,
    ]),
    [
      [3, null],
      [2, { code: "bad_sql", message: "no such column" }],
    ],
  );
  const rest = await ask(
    `dynamic-tables/revenue/history?limit=2&page_token=${first.body.next_page_token}`,
  );
  assert.deepEqual(
    [rest.body.items.map(({ number }: { number: number }) => number), rest.body.next_page_token],
    [[1], null],
  );
  const { body: lag } = await ask("dynamic-tables/revenue/lag?window_ms=120000");
  assert.deepEqual(
    lag.points.slice(0, 3).map(({ lag_ms }: { lag_ms: number }) => lag_ms),
    [200, 2_200, 200],
  );
  assert.equal(lag.effective_target_lag_ms, 60_000);
});

test("[AP36] rows of a table come as of /api/v1/sql, at most so many, to whoever may read", async () => {
  const response = await fetch(`${api.url}/api/v1/tables/orders/rows?limit=1`, {
    headers: { authorization: `Bearer ${readToken}` },
  });
  const lines = (await response.text()).trimEnd().split("\n");
  assert.match(lines[0] ?? "", /"columns":\[\{"name":"id","type":"BIGINT"\}/);
  assert.equal(lines.length, 3);
  assert.match(response.headers.get("x-capstan-query-id") ?? "", /^q-/);
});

test("[AP37] a refresh that is waited for ends with its time, and with the client that asked", async () => {
  const path = "dynamic-tables/revenue/refresh?wait=true";
  const late = await ask(`${path}&timeout_ms=200`, "POST");
  assert.deepEqual([late.status, late.body.code], [504, "deadline_exceeded"]);
  assert.match(late.body.message, /within 200 ms/);
  for (const timeout of ["0", "3600001", "soon"]) {
    assert.equal((await ask(`${path}&timeout_ms=${timeout}`, "POST")).status, 400);
  }
  const leave = new AbortController();
  const asked = fetch(`${api.url}/api/v1/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${operateToken}` },
    signal: leave.signal,
  });
  asked.catch(() => undefined);
  await eventually("the statement to wait", async () => (underWay.size > 0 ? true : undefined));
  leave.abort();
  const startMs = performance.now();
  await eventually("the statement to end", async () => (underWay.size === 0 ? true : undefined));
  assert.ok(performance.now() - startMs < 10_000, "long before its own time is over");
});

test("[AP37] suspending, resuming, refreshing and dropping are the statements', with their refusals", async () => {
  const states = async (): Promise<unknown[]> =>
    (await ask("dynamic-tables")).body.items.map(({ status }: { status: string }) => status);
  assert.equal((await ask("dynamic-tables/revenue/suspend", "POST", readToken)).status, 403);
  assert.equal((await ask("dynamic-tables/revenue/suspend", "POST")).status, 200);
  assert.deepEqual(await states(), ["SUSPENDED", "SUSPENDED"]);
  const refused = await ask("dynamic-tables/revenue/refresh", "POST");
  assert.match(refused.body.message, /SUSPENDED/);
  assert.equal((await ask("dynamic-tables/revenue/resume", "POST")).status, 200);
  assert.deepEqual(await states(), ["INITIALIZING", "INITIALIZING"]);
  assert.equal((await ask("dynamic-tables/revenue/refresh", "POST")).status, 200);
  const read = await ask("dynamic-tables/revenue", "DELETE");
  assert.deepEqual([read.status, read.body.code], [409, "reference_violated"]);
  const sales = encodeURIComponent('"big sales"');
  assert.equal((await ask(`dynamic-tables/${sales}`, "DELETE")).status, 200);
  assert.equal((await ask(`dynamic-tables/${sales}`)).status, 404);
});

test("[AP34] what is not there is a 404; a process without a store has no tables", async () => {
  for (const path of [
    "tables/nothing",
    "tables/nothing/rows",
    "dynamic-tables/orders",
    "dynamic-tables/orders/history",
    "dynamic-tables/orders/lag",
  ]) {
    const { status, body } = await ask(path);
    assert.deepEqual([path, status, body.code], [path, 404, "not_found"]);
  }
  assert.equal((await ask("dynamic-tables/orders/refresh", "POST")).status, 404);
  const response = await fetch(`${none.url}/api/v1/dynamic-tables`);
  assert.equal(response.status, 501);
});
