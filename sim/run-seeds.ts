/** Runs many seeds on several threads and adds up what happened. */
import { Worker } from "node:worker_threads";
import { assert } from "../src/kernel/errors.ts";
import { Counters } from "./checks/counters.ts";
import type { RunResult } from "./run-plan.ts";
import type { SeedAnswer, SeedRequest } from "./seed-thread.ts";

export interface SeedsOptions {
  readonly start: number;
  readonly count: number;
  readonly jobs: number;
  readonly plant?: string;
  /** Each seed is run twice and the traces compared. */
  readonly checkDeterminism?: boolean;
  /** Ends early once this many seeds have failed. */
  readonly violationsMax?: number;
  readonly onFailed?: (result: RunResult) => void;
}

export interface Totals {
  readonly seeds: number;
  readonly violations: number;
  /** In the order of their seeds. */
  readonly failed: readonly RunResult[];
  readonly virtualMs: number;
  readonly events: number;
  readonly faults: number;
  /** Of the seed that had the fewest. */
  readonly faultsMin: number;
  readonly virtualMsMin: number;
  readonly counters: Counters;
  /** Seeds whose second run was another one than their first. */
  readonly undetermined: readonly number[];
}

/** Seeds that a thread is given at a time. */
const batch = 4;

export async function runSeeds(options: SeedsOptions): Promise<Totals> {
  const { start, count, jobs, violationsMax = Number.POSITIVE_INFINITY } = options;
  const counters = new Counters();
  const failed: RunResult[] = [];
  const undetermined: number[] = [];
  const sums = {
    seeds: 0,
    virtualMs: 0,
    events: 0,
    faults: 0,
    faultsMin: Number.POSITIVE_INFINITY,
    virtualMsMin: Number.POSITIVE_INFINITY,
  };
  let next = start;
  const take = (): SeedRequest | undefined => {
    if (next >= start + count || failed.length >= violationsMax) return undefined;
    const seeds = Array.from({ length: Math.min(batch, start + count - next) }, () => next++);
    const { plant, checkDeterminism = false } = options;
    return { seeds, checkDeterminism, ...(plant === undefined ? {} : { plant }) };
  };
  const add = ({ results, undetermined: found }: SeedAnswer): void => {
    undetermined.push(...found);
    for (const result of results) {
      sums.seeds += 1;
      sums.virtualMs += result.virtualMs;
      sums.events += result.eventCount;
      sums.faults += result.faultCount;
      counters.merge(result.counts);
      if (result.violation === undefined) {
        sums.faultsMin = Math.min(sums.faultsMin, result.faultCount);
        sums.virtualMsMin = Math.min(sums.virtualMsMin, result.virtualMs);
      } else {
        failed.push(result);
        options.onFailed?.(result);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(jobs, count) }, () => runThread(take, add)));
  failed.sort((left, right) => Number(left.seed) - Number(right.seed));
  return {
    ...sums,
    violations: failed.length + undetermined.length,
    failed,
    counters,
    undetermined,
  };
}

/** One thread, fed until there is nothing left. */
function runThread(
  take: () => SeedRequest | undefined,
  add: (answer: SeedAnswer) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL("./seed-thread.ts", import.meta.url));
    const feed = (): void => {
      const request = take();
      if (request === undefined) thread.postMessage(null);
      else thread.postMessage(request);
    };
    thread.on("message", (answer: SeedAnswer) => {
      add(answer);
      feed();
    });
    thread.on("error", reject);
    thread.on("exit", (code) => {
      if (code === 0) resolve();
      else reject(new Error(`a thread of the simulator ended with ${code}`));
    });
    assert(thread.threadId > 0, "the thread has started");
    feed();
  });
}
