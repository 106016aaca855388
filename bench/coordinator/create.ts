/**
 * From CREATE QUERY to RUNNING, which is when every worker has confirmed that its fragments run and
 * their sources are open: a generator, a keyed window whose groups are on two workers, and a table
 * of the lake. One query at a time; each is dropped before the next one. The first ones, in which
 * the processes load their code, are not counted.
 */
import assert from "node:assert/strict";
import { rowsOf, waitFor } from "../../test/e2e/harness.ts";
import { type BenchOptions, percentile, type Report } from "../report.ts";
import {
  generatorStatements,
  lakeSinkStatement,
  StreamsCluster,
  windowQuery,
  workerNames,
} from "./streams-cluster.ts";

const warmUps = 5;
const runningMsMax = 500;

export async function benchCreate({ trials }: BenchOptions, report: Report): Promise<void> {
  const world = await StreamsCluster.start();
  try {
    await world.define([...generatorStatements("bids", 1_000), lakeSinkStatement("hot")]);
    await checkResults(world);
    const created: number[] = [];
    const dropped: number[] = [];
    for (let trial = -warmUps; trial < trials; trial += 1) {
      const [createMs, dropMs] = await timeQuery(world, `query_${trial + warmUps}`);
      if (trial < 0) continue;
      created.push(createMs);
      dropped.push(dropMs);
    }
    report.spread("drop_to_stopped", "ms", dropped);
    created.sort((left, right) => left - right);
    const p99 = { value: percentile(created, 0.99), atMost: runningMsMax };
    const others = { trials, p50_ms: percentile(created, 0.5), worst_ms: created.at(-1) };
    report.figure("create_to_running", { p99_ms: p99 }, others);
  } finally {
    await world.stop();
  }
}

/** The query runs on both workers, and its table gets the rows of its windows. */
async function checkResults(world: StreamsCluster): Promise<void> {
  await world.create(
    "checked",
    windowQuery("bids", "hot", `, '1 SEC' AS "QUERY".CHECKPOINT_INTERVAL`),
  );
  const { deployed } = await world.query("checked");
  assert.deepEqual(new Set(deployed.map(({ worker_id }) => worker_id)), new Set(workerNames));
  const [sums] = await waitFor("rows of the query", async () => {
    const rows = await rowsOf(
      world.cluster.url,
      "SELECT count(*), min(n), max(n), count(DISTINCT start * 100 + a) FROM hot",
    ).catch(() => undefined);
    return Number(rows?.[0]?.[0]) > 20 ? rows : undefined;
  });
  const [rows, least, most, distinct] = (sums ?? []).map(Number);
  assert.deepEqual([least, most, distinct], [100, 100, rows]);
  await world.drop("checked");
}

async function timeQuery(world: StreamsCluster, name: string): Promise<[number, number]> {
  const beganMs = performance.now();
  await world.create(name, windowQuery("bids", "hot"));
  const runningMs = performance.now();
  await world.drop(name);
  return [runningMs - beganMs, performance.now() - runningMs];
}
