/**
 * Small queries with a checkpoint every second: how many are recorded, in how many transactions of
 * the store, and what that costs the coordinator. SQLite counts the transactions that write in the
 * header of its shared memory.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { cpuSecondsOf } from "../load/load-cluster.ts";
import type { BenchOptions, Report } from "../report.ts";
import { createMany, defineMany, namesOf, waitUntilRunning } from "./many-queries.ts";
import { StreamsCluster } from "./streams-cluster.ts";

const queriesMax = 200;
const settleMs = 5_000;

export async function benchCheckpoints(
  { queries, seconds }: BenchOptions,
  report: Report,
): Promise<void> {
  const world = await StreamsCluster.start();
  try {
    await defineMany(world);
    const names = namesOf(Math.min(queries, queriesMax));
    await createMany(world, names, ` SET('1 SEC' AS "QUERY".CHECKPOINT_INTERVAL)`);
    await waitUntilRunning(world, names.length);
    await pause(settleMs); // What the deployments wrote is over, and code is compiled.
    const before = countsOf(world);
    await pause(seconds * 1_000);
    const now = countsOf(world);
    const passed = (now.atMs - before.atMs) / 1_000;
    report.figure(
      "checkpoints",
      {},
      {
        queries: names.length,
        checkpoints_per_second: (now.checkpoints - before.checkpoints) / passed,
        transactions_per_second: (now.transactions - before.transactions) / passed,
        coordinator_cpu_per_second: (now.cpuSeconds - before.cpuSeconds) / passed,
      },
    );
  } finally {
    await world.stop();
  }
}

interface Counts {
  readonly atMs: number;
  /** Numbers are given in turn, and never twice. */
  readonly checkpoints: number;
  readonly transactions: number;
  readonly cpuSeconds: number;
}

function countsOf(world: StreamsCluster): Counts {
  const [row] = world.readStore(`
    SELECT sum(newest) AS checkpoints
      FROM (SELECT max(checkpoint) AS newest FROM query_checkpoints GROUP BY query_id)`);
  return {
    atMs: performance.now(),
    checkpoints: Number(row?.checkpoints),
    transactions: writingTransactions(world),
    cpuSeconds: cpuSecondsOf(world.cluster.pid("coordinator")),
  };
}

/** `iChange` of the index of the write-ahead log: "incremented each transaction". */
function writingTransactions({ cluster }: StreamsCluster): number {
  const header = readFileSync(join(cluster.dataDir, "store.sqlite-shm"));
  const [versionAt, changeAt] = [0, 8];
  assert.equal(header.readUInt32LE(versionAt), 3_007_000, "the format of SQLite's log is known");
  return header.readUInt32LE(changeAt);
}
