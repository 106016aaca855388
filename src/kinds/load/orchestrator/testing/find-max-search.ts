/**
 * The search for the maximum as a whole, in virtual time: the orchestrator, real workers, the
 * store, and a target of known capacity. As a thread it searches for the seeds that it is given.
 */
import assert from "node:assert/strict";
import { isMainThread, parentPort, workerData } from "node:worker_threads";
import { createPrng } from "../../../../ground/kernel/prng.ts";
import { VirtualClock } from "../../../../ground/kernel/testing/virtual-clock.ts";
import type { FindMaxResult } from "../../core/find-max.ts";
import { isTerminal } from "../../core/run-state.ts";
import { QueueTarget } from "../../testing/queue-target.ts";
import { scenarioOf } from "../../testing/scenario.ts";
import { openRealOrchestrator } from "./real-orchestrator.ts";

export interface Searched {
  readonly seed: number;
  readonly drawn: Search;
  readonly result: FindMaxResult;
}

interface Search {
  readonly servers: number;
  readonly serviceMs: number;
  /** Of an operation's time, up to so much more or less. */
  readonly jitter: number;
  readonly workers: number;
  readonly start: number;
  readonly increment: number;
}

function drawSearch(seed: number): Search {
  const prng = createPrng(`find-max/${seed}`);
  return {
    // Few servers are where one connection more or less matters most.
    servers: seed % 3 === 0 ? 1 + prng.below(5) : 3 + prng.below(30),
    serviceMs: 40 + prng.below(80),
    jitter: prng.next() < 0.3 ? 0 : prng.next() * 0.3,
    workers: 1 + prng.below(3),
    start: 3 + prng.below(20),
    increment: 4 + prng.below(16),
  };
}

async function search(
  seed: number,
  { servers, serviceMs, jitter, workers, start, increment }: Search,
): Promise<FindMaxResult> {
  // Everything here ends without the event loop's help.
  const settle = () => new Promise<void>((resolve) => process.nextTick(resolve));
  const clock = new VirtualClock({ settle });
  const prng = createPrng(`find-max/${seed}/run`);
  const target = new QueueTarget({
    clock,
    servers,
    serviceMs,
    jitter: () => 1 + (prng.next() * 2 - 1) * jitter,
  });
  const { orchestrator, store } = await openRealOrchestrator({ clock, prng, target });
  const scenario = scenarioOf({
    workload: { loadMode: "FIND_MAX_CONCURRENCY", warmupSeconds: 2 },
    scaling: { workerCount: workers },
    findMax: {
      enabled: true,
      startConcurrency: start,
      concurrencyIncrement: increment,
      stepDurationSeconds: 6,
    },
  });
  const runId = await orchestrator.prepareRun({ scenario, testName: "search", password: null });
  await orchestrator.startRun(runId);
  for (let second = 0; second < 1_200; second += 10) {
    await clock.advance(10_000);
    const look = await orchestrator.runs.look(runId);
    if (look !== undefined && isTerminal(look.run.status)) break;
  }
  const { status, result } = await store.read(async ({ db }) => {
    const row = await db
      .selectFrom("test_results")
      .select(["status", "find_max_result"])
      .where("test_id", "=", runId)
      .executeTakeFirstOrThrow();
    return { status: row.status, result: row.find_max_result };
  });
  await orchestrator.close();
  assert.equal(status, "COMPLETED", `seed ${seed}`);
  return JSON.parse(result ?? "null") as FindMaxResult;
}

if (!isMainThread && Array.isArray(workerData?.findMaxSeeds)) {
  for (const seed of workerData.findMaxSeeds as readonly number[]) {
    const drawn = drawSearch(seed);
    parentPort?.postMessage({ seed, drawn, result: await search(seed, drawn) } satisfies Searched);
  }
}
