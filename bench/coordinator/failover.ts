/**
 * A worker with fragments of a running query is killed, whose REPLACE_AFTER is 0: until the query's
 * table has rows of windows that it did not have. A generator, a keyed window of 250 ms whose
 * groups are on two workers, a table of the lake, and checkpoints every 500 ms. The query goes on
 * from its last checkpoint and repeats what came after it, so the goal allows for the checkpoint's
 * age. Each trial has a query and a table of its own, and every row is checked.
 */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { rowsOf, waitFor } from "../../test/e2e/harness.ts";
import type { BenchOptions, Report } from "../report.ts";
import {
  generatorStatements,
  lakeSinkStatement,
  StreamsCluster,
  workerNames,
} from "./streams-cluster.ts";

const lookMs = 5;
const waitMsMax = 30_000;
/** Besides the age of the checkpoint. */
const resultsMsMax = 5_000;
/** 250 rows of a window, of which every key has 25. */
const rowsPerKey = 25;

export async function benchWorkerKill({ trials }: BenchOptions, report: Report): Promise<void> {
  const world = await StreamsCluster.start();
  try {
    await world.define(generatorStatements("bids", 1_000));
    const samples: Sample[] = [];
    for (let trial = 0; trial < trials; trial += 1) {
      samples.push(await killOnce(world, `hot_${trial}`, workerNames[trial % 2] as string));
    }
    const ages = samples.map(({ ageMs }) => ageMs);
    report.spread("checkpoint_age_at_kill", "ms", ages);
    report.spread(
      "sigkill_to_running",
      "ms",
      samples.map(({ runningMs }) => runningMs),
    );
    report.spread(
      "sigkill_to_results",
      "ms",
      samples.map(({ resultsMs }) => resultsMs),
    );
    report.spread(
      "sigkill_to_results_without_checkpoint_age",
      "ms",
      samples.map(({ resultsMs, ageMs }) => resultsMs - ageMs),
      { atMost: resultsMsMax },
    );
  } finally {
    await world.stop();
  }
}

interface Sample {
  readonly ageMs: number;
  readonly runningMs: number;
  readonly resultsMs: number;
}

async function killOnce(world: StreamsCluster, name: string, victim: string): Promise<Sample> {
  const { cluster } = world;
  await cluster.waitForWorkers("ACTIVE", workerNames);
  await world.define([lakeSinkStatement(name)]);
  await world.create(name, query(name));
  const { deployed } = await world.query(name);
  assert.deepEqual(new Set(deployed.map(({ worker_id }) => worker_id)), new Set(workerNames));
  await until("rows of the query", () => progressOf(world, name).rows > 0);
  await pause(Math.random() * 500); // Anywhere between two checkpoints.

  const before = progressOf(world, name);
  const [ageMs, beganMs] = [Date.now() - before.checkpointMs, performance.now()];
  cluster.kill(victim, "SIGKILL");
  let runningMs = 0;
  await until("further rows", () => {
    const now = progressOf(world, name);
    if (runningMs === 0 && now.isRunning && now.epoch > 1) runningMs = performance.now() - beganMs;
    return now.epoch > 1 && now.rows > before.rows;
  });
  const resultsMs = performance.now() - beganMs;
  await checkRows(world, name);
  await world.drop(name);
  return { ageMs, runningMs, resultsMs };
}

function query(sink: string): string {
  return `SELECT start, end, auction % UINT64(10) AS a, COUNT(*) AS n FROM bids
    GROUP BY (a) WINDOW TUMBLING(ts, SIZE 250 MS) INTO ${sink}
    SET(2 AS "QUERY".PARALLELISM, '500 MS' AS "QUERY".CHECKPOINT_INTERVAL,
        '0 SEC' AS "QUERY".REPLACE_AFTER)`;
}

interface Progress {
  readonly epoch: number;
  readonly isRunning: boolean;
  readonly rows: number;
  readonly checkpointMs: number;
}

/** As the store has it: to ask a worker would disturb what is measured. */
function progressOf(world: StreamsCluster, name: string): Progress {
  const [row] = world.readStore(
    `SELECT epoch, state,
            (SELECT max(completed_at_ms) FROM query_checkpoints c WHERE c.query_id = q.query_id) AS at_ms,
            (SELECT sum(record_count) FROM ducklake_data_file JOIN ducklake_table t USING (table_id)
              WHERE t.table_name = ?) AS row_count
       FROM queries q WHERE name = ?`,
    name,
    name,
  );
  return {
    epoch: Number(row?.epoch),
    isRunning: row?.state === "RUNNING",
    rows: Number(row?.row_count ?? 0),
    checkpointMs: Number(row?.at_ms ?? 0),
  };
}

/** Every window has each key once. */
async function checkRows({ cluster }: StreamsCluster, table: string): Promise<void> {
  const sums = `SELECT count(*), min(n), max(n), count(DISTINCT start * 100 + a) FROM ${table}`;
  const [row] = await waitFor("an answer", () => rowsOf(cluster.url, sums).catch(() => undefined));
  const [rows, least, most, distinct] = (row ?? []).map(Number);
  assert.deepEqual([least, most, distinct], [rowsPerKey, rowsPerKey, rows]);
}

async function until(what: string, isSo: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + waitMsMax;
  while (!isSo()) {
    assert(performance.now() < deadlineMs, `waited in vain for ${what}`);
    await pause(lookMs);
  }
}
