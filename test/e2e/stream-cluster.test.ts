/**
 * A continuous query on real workers, as a person creates, watches and drops it: a keyed window
 * over two workers and a table of the lake as its sink, while a worker and the coordinator are
 * killed. Every window has each row once, which the generator's own arithmetic says.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  type Cluster,
  type Rows,
  rowsOf,
  runCli,
  startCluster,
  stopEverything,
  waitFor,
} from "./harness.ts";

let cluster: Cluster;

before(async () => {
  cluster = await startCluster({ workers: 2 });
  await cluster.waitForWorkers("ACTIVE", ["worker-1", "worker-2"]);
});
after(async () => {
  await cluster.stop();
  await stopEverything();
});

interface QueryBody {
  readonly state: string;
  readonly epoch: number;
  readonly deployed: readonly { readonly fragment: string; readonly worker_id: string }[];
}

async function queryOf(name: string): Promise<QueryBody | undefined> {
  const response = await fetch(`${cluster.url}/api/v1/streams/queries/${name}`).catch(
    () => undefined,
  );
  return response?.status === 200 ? ((await response.json()) as QueryBody) : undefined;
}

async function untilRunning(name: string, epoch: number): Promise<QueryBody> {
  return await waitFor(
    `${name} to run in epoch ${epoch} or a later one`,
    async () => {
      const query = await queryOf(name);
      return query?.state === "RUNNING" && query.epoch >= epoch ? query : undefined;
    },
    60_000,
  );
}

/** Windows of ten auctions, a hundred rows each; the table has more than `count` rows. */
async function untilRows(count: number): Promise<number> {
  const sums = "SELECT count(*), min(n), max(n), count(DISTINCT start * 100 + a) FROM hot";
  const [row] = await waitFor(
    `more than ${count} rows`,
    async () => {
      const rows: Rows | undefined = await rowsOf(cluster.url, sums).catch(() => undefined);
      return Number(rows?.[0]?.[0]) > count ? rows : undefined;
    },
    60_000,
  );
  const [rows, least, most, distinct] = (row ?? []).map(Number);
  assert.deepEqual([least, most, distinct], [100, 100, rows]);
  return rows ?? 0;
}

const statements = `
CREATE LOGICAL SOURCE bids(ts UINT64, auction UINT64);
CREATE PHYSICAL SOURCE FOR bids TYPE Generator SET(
  'SEQUENCE UINT64 0 10000000 1, SEQUENCE UINT64 0 100000000 7' AS "SOURCE".GENERATOR_SCHEMA,
  'NONE' AS "SOURCE".STOP_GENERATOR_WHEN_SEQUENCE_FINISHES, 20000 AS "SOURCE".ROWS_PER_SECOND);
CREATE SINK hot TYPE Lake SET('hot' AS "SINK".TABLE);
CREATE QUERY hot_items AS
  SELECT start, end, auction % UINT64(10) AS a, COUNT(*) AS n FROM bids
  GROUP BY (a) WINDOW TUMBLING(ts, SIZE 1 SEC) INTO hot
  SET(2 AS "QUERY".PARALLELISM, '1 SEC' AS "QUERY".CHECKPOINT_INTERVAL);`;

interface LiveBody {
  readonly fragments: readonly {
    readonly fragment: string;
    readonly worker_id: string;
    readonly rows_in_per_second: number | null;
    readonly busy_ratio: number | null;
    readonly told_at_ms: number | null;
    readonly sources: readonly string[];
  }[];
  readonly edges: readonly { readonly rows_per_second: number | null; readonly from: string }[];
  readonly checkpoints: readonly { readonly bytes: number; readonly duration_ms: number }[];
  readonly held_back_by: { readonly source: string | null; readonly reason: string } | null;
}

/** Every fragment has told twice, and there is a checkpoint. */
async function untilLive(name: string): Promise<LiveBody> {
  return await waitFor("figures of every fragment", async () => {
    const response = await fetch(`${cluster.url}/api/v1/streams/queries/${name}/live`);
    if (response.status !== 200) return undefined;
    const body = (await response.json()) as LiveBody;
    const isTold = body.fragments.every(({ rows_in_per_second: rate }) => (rate ?? 0) > 0);
    return isTold && body.checkpoints.length > 0 ? body : undefined;
  });
}

test("[SD8] a query with a Lake sink has each row once while workers and coordinator are killed", async () => {
  const sql = (text: string) => runCli(["sql", "-c", text, "--url", cluster.url]);
  const created = await sql(statements);
  assert.equal(created.code, 0, created.stderr);
  const { deployed } = await untilRunning("hot_items", 1);
  assert.deepEqual(new Set(deployed.map((each) => each.worker_id)).size, 2);
  let rows = await untilRows(0);

  const live = await untilLive("hot_items"); // SD60
  assert.deepEqual(
    live.fragments.map(({ fragment, worker_id }) => [fragment, worker_id]).sort(),
    deployed.map(({ fragment, worker_id }) => [fragment, worker_id]).sort(),
  );
  assert.ok(
    live.fragments.every(({ busy_ratio, told_at_ms }) => busy_ratio !== null && told_at_ms),
  );
  const reading = live.fragments.find(({ sources }) => sources.length > 0);
  assert.ok((reading?.rows_in_per_second ?? 0) > 1_000, "about 20,000 rows a second");
  assert.ok(live.edges.length > 0 && live.edges.every((edge) => edge.rows_per_second !== null));
  assert.deepEqual(live.held_back_by?.source, "bids", live.held_back_by?.reason);
  const missing = await fetch(`${cluster.url}/api/v1/streams/queries/none/live`);
  assert.equal(missing.status, 404);
  await waitFor("metrics of the query", async () => {
    const text = await (await fetch(`${cluster.url}/metrics`)).text(); // SD65
    const isThere = (name: string) => new RegExp(`^${name}\\{query="hot_items".* [1-9]`, "m");
    const names = ["rows_in_total", "bytes_out_total", "state_bytes", "checkpoint_size_bytes"];
    return names.every((name) => isThere(`capstan_stream_${name}`).test(text)) ? true : undefined;
  });
  const load = await fetch(`${cluster.url}/api/v1/monitor/streams`); // SD68
  const { fragments, slots_used } = (await load.json()) as Readonly<Record<string, number>>;
  assert.deepEqual([fragments, slots_used], [deployed.length, deployed.length]);

  const refused = await sql("DROP SINK hot");
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /the sink hot is used by the query hot_items/);

  cluster.kill("worker-2", "SIGKILL");
  const { epoch } = await untilRunning("hot_items", 2);
  rows = await untilRows(rows + 100);

  cluster.kill("coordinator", "SIGKILL");
  rows = await untilRows(rows + 100);
  assert.equal((await queryOf("hot_items"))?.epoch, epoch, "what ran was not touched");

  const dropped = await sql("DROP QUERY hot_items");
  assert.equal(dropped.code, 0, dropped.stderr);
  await waitFor("the name to be free", async () => {
    const shown = await sql("SHOW QUERIES");
    return shown.code === 0 && !shown.stdout.includes("hot_items") ? true : undefined;
  });
  await waitFor("its metrics to be gone", async () => {
    const text = await (await fetch(`${cluster.url}/metrics`)).text();
    return text.includes("hot_items") ? undefined : true;
  });
  await untilRows(rows - 1);
});
