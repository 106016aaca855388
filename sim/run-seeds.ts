/** Runs many seeds on several threads and adds up what happened. */
import { Worker } from "node:worker_threads";
import { Counters } from "./checks/counters.ts";
import { hasLoad, hasTables, type Suite } from "./plan.ts";
import { findPlant } from "./plants/plants.ts";
import type { RunResult } from "./run-plan.ts";
import type { SeedAnswer, SeedRequest } from "./seed-thread.ts";

export interface SeedsOptions {
  readonly start: number;
  readonly count: number;
  readonly jobs: number;
  /** Default: `fleet`. */
  readonly suite?: Suite;
  readonly plant?: string;
  /** Runs each seed twice and compares the traces. */
  readonly checkDeterminism?: boolean;
  readonly onFailed?: (result: RunResult) => void;
}

export interface Totals {
  readonly seeds: number;
  readonly violations: number;
  /** Sorted by seed. */
  readonly failed: readonly RunResult[];
  readonly virtualMs: number;
  readonly events: number;
  readonly faults: number;
  /** The number of faults in the seed that had the fewest. */
  readonly faultsMin: number;
  readonly virtualMsMin: number;
  readonly counters: Counters;
  /** Seeds whose second run differed from the first. */
  readonly undetermined: readonly number[];
}

/** Seeds that a thread is given at a time. */
const batch = 4;

export async function runSeeds(options: SeedsOptions): Promise<Totals> {
  const { start, count, jobs, plant, suite = "fleet", checkDeterminism = false } = options;
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
  const add = (result: RunResult): void => {
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
  };
  const requests: SeedRequest[] = [];
  const all = seedsFrom(start, count, suite);
  for (let first = 0; first < count; first += batch) {
    const seeds = all.slice(first, first + batch);
    requests.push({ seeds, suite, plant, checkDeterminism, untilViolation: false });
  }
  await runRequests(requests, jobs, (answer) => {
    undetermined.push(...answer.undetermined);
    for (const result of answer.results) add(result);
  });
  failed.sort((left, right) => Number(left.seed) - Number(right.seed));
  const violations = failed.length + undetermined.length;
  return { ...sums, violations, failed, counters, undetermined };
}

function seedsFrom(start: number, count: number, suite: Suite): readonly number[] {
  const has = suite === "tables" ? hasTables : suite === "load" ? hasLoad : () => true;
  const seeds: number[] = [];
  for (let seed = start; seeds.length < count; seed += 1) if (has(seed)) seeds.push(seed);
  return seeds;
}

/** A seed that catches each planted bug, `likely` ones first; undefined after `seedsMax`. */
export async function catchPlants(
  names: readonly string[],
  seedsMax: number,
  jobs: number,
  likely: ReadonlyMap<string, readonly number[]> = new Map(),
): Promise<ReadonlyMap<string, RunResult | undefined>> {
  const requests = names.map((plant): SeedRequest => {
    // A bug of tables shows only in worlds with tables.
    const suite = findPlant(plant)?.suite ?? "fleet";
    const seeds = seedsFrom(1, seedsMax, suite);
    return {
      seeds: [...(likely.get(plant) ?? []), ...seeds],
      suite,
      plant,
      checkDeterminism: false,
      untilViolation: true,
    };
  });
  const caught = new Map<string, RunResult | undefined>();
  await runRequests(requests, jobs, ({ request, results }) => {
    const last = results.at(-1);
    caught.set(request.plant ?? "", last?.violation === undefined ? undefined : last);
  });
  return caught;
}

/** Gives the requests, in order, to whichever of `jobs` threads is free. */
async function runRequests(
  requests: readonly SeedRequest[],
  jobs: number,
  onAnswer: (answer: SeedAnswer) => void,
): Promise<void> {
  const waiting = requests.values();
  const threadCount = Math.min(jobs, requests.length);
  const run = (): Promise<void> => runThread(() => waiting.next().value, onAnswer);
  await Promise.all(Array.from({ length: threadCount }, run));
}

/**
 * Threads that wait for requests. They stay for the next call: until a thread's code is compiled
 * and optimised, it spends about three seconds.
 */
const idle: Worker[] = [];

/** One thread, which gets requests until none is left. */
async function runThread(
  take: () => SeedRequest | undefined,
  onAnswer: (answer: SeedAnswer) => void,
): Promise<void> {
  const thread = idle.pop() ?? new Worker(new URL("./seed-thread.ts", import.meta.url));
  thread.ref();
  for (let request = take(); request !== undefined; request = take()) {
    onAnswer(await answerOf(thread, request));
  }
  thread.unref(); // It ends with the process.
  idle.push(thread);
}

function answerOf(thread: Worker, request: SeedRequest): Promise<SeedAnswer> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      thread.off("message", answered).off("error", failed).off("exit", ended);
      act();
    };
    const answered = (answer: SeedAnswer): void => settle(() => resolve(answer));
    const failed = (error: unknown): void => settle(() => reject(error));
    const ended = (code: number): void =>
      settle(() => reject(new Error(`a thread of the simulator ended with ${code}`)));
    thread.on("message", answered).on("error", failed).on("exit", ended);
    thread.postMessage(request);
  });
}
