/**
 * A query that begins with another one's savepoint, on real workers: the windows that were open
 * then are whole, and stay so when the first query, whose objects the second one uses, is gone and
 * a worker is killed.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  type Cluster,
  getJson,
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

const counting = `SELECT start, end, auction % UINT64(10) AS a, COUNT(*) AS n FROM bids
  GROUP BY (a) WINDOW TUMBLING(ts, SIZE 10 SEC)`;
const settings = `SET(2 AS "QUERY".PARALLELISM, '1 SEC' AS "QUERY".CHECKPOINT_INTERVAL)`;
const statements = `
CREATE LOGICAL SOURCE bids(ts UINT64, auction UINT64);
CREATE PHYSICAL SOURCE FOR bids TYPE Generator SET(
  'SEQUENCE UINT64 0 10000000 1, SEQUENCE UINT64 0 100000000 7' AS "SOURCE".GENERATOR_SCHEMA,
  'NONE' AS "SOURCE".STOP_GENERATOR_WHEN_SEQUENCE_FINISHES, 20000 AS "SOURCE".ROWS_PER_SECOND);
CREATE SINK hot TYPE Lake SET('hot' AS "SINK".TABLE);
CREATE SINK trial TYPE Lake SET('trial' AS "SINK".TABLE);
CREATE QUERY hot AS ${counting} INTO hot ${settings};`;

async function statement(text: string): Promise<string> {
  const { code, stdout, stderr } = await runCli(["sql", "-c", text, "--url", cluster.url]);
  assert.equal(code, 0, stderr);
  return stdout;
}

/** The time of the first window, when the table has more than so many rows: each is whole. */
async function untilRows(table: string, count: number): Promise<readonly [number, number]> {
  const figures = `SELECT min(start), count(*), min(n), max(n), count(DISTINCT start * 100 + a) FROM ${table}`;
  const [row] = await waitFor(
    `more than ${count} rows in ${table}`,
    async () => {
      const rows = await rowsOf(cluster.url, figures).catch(() => undefined);
      return Number(rows?.[0]?.[1]) > count ? rows : undefined;
    },
    60_000,
  );
  const [first = 0, rows = 0, least, most, distinct] = (row ?? []).map(Number);
  assert.deepEqual([least, most, distinct], [1_000, 1_000, rows]);
  return [first, rows];
}

test("[SC52, SD40, SD42] a query begins with the savepoint of another one, and outlives it", async () => {
  await statement(statements);
  await untilRows("hot", 20);
  const url = `${cluster.url}/api/v1/streams/queries/hot/checkpoints`;
  const taken = (await (await fetch(url, { method: "POST" })).json()) as { checkpoint: number };
  assert.ok(taken.checkpoint > 0, JSON.stringify(taken));
  await untilRows("hot", 60);
  const kept = await getJson<{ checkpoints: readonly { kind: string; checkpoint: number }[] }>(url);
  assert.deepEqual(
    kept.checkpoints.filter(({ kind }) => kind === "SAVEPOINT").map((each) => each.checkpoint),
    [taken.checkpoint],
  );
  const from = `FROM CHECKPOINT ${taken.checkpoint} FOR hot`;
  const begun = await statement(`CREATE QUERY trial AS ${counting} INTO trial ${settings} ${from}`);
  assert.match(begun, new RegExp(`it begins from the checkpoint ${taken.checkpoint}`));
  const [first, rows] = await untilRows("trial", 20);
  assert.ok(first > 0, "it begins in the middle");
  await statement("DROP QUERY hot");
  await waitFor("the first query to be gone", async () =>
    (await fetch(url)).status === 404 ? true : undefined,
  );
  cluster.kill("worker-2", "SIGKILL");
  const [still] = await untilRows("trial", rows + 100);
  assert.equal(still, first);
});
