/** A thread that runs seeds as it is told to, until it is told nothing. */
import { parentPort } from "node:worker_threads";
import { assert } from "../src/ground/kernel/errors.ts";
import { diskSeams } from "./disk/disk-seams.ts";
import { runDiskSeed } from "./disk/run-disk-seed.ts";
import { type DiskSuite, planOf } from "./plan.ts";
import { findPlant } from "./plants/plants.ts";
import { type RunResult, runPlan } from "./run-plan.ts";
import { productionSeams } from "./seams.ts";

export interface SeedRequest {
  readonly seeds: readonly number[];
  /** `undefined`: fleets. */
  readonly suite: DiskSuite | undefined;
  /** `undefined`: production as it is. */
  readonly plant: string | undefined;
  readonly checkDeterminism: boolean;
  /** Ends with the first seed that violates something. */
  readonly untilViolation: boolean;
}

export interface SeedAnswer {
  readonly request: SeedRequest;
  /** Of the seeds that were run, in their order. */
  readonly results: readonly RunResult[];
  readonly undetermined: readonly number[];
}

type Runner = (seed: number) => Promise<RunResult>;

/** A planted bug decides for itself where it shows. */
function runnerOf(plant: string | undefined, suite: DiskSuite | undefined): Runner {
  const found = plant === undefined ? undefined : findPlant(plant);
  assert(plant === undefined || found !== undefined, "the plant was looked up before");
  const which = found?.disk?.suite ?? suite;
  if (which !== undefined) {
    const seams = found?.disk?.seams ?? diskSeams;
    return (seed) => runDiskSeed(which, seed, { seams });
  }
  const seams = found?.seams ?? productionSeams;
  return (seed) => runPlan(planOf(seed), { seams });
}

async function answer(request: SeedRequest): Promise<SeedAnswer> {
  const { plant, checkDeterminism, untilViolation } = request;
  const run = runnerOf(plant, request.suite);
  const results: RunResult[] = [];
  const undetermined: number[] = [];
  for (const seed of request.seeds) {
    const result = await run(seed);
    results.push(result);
    if (untilViolation && result.violation !== undefined) break;
    if (!checkDeterminism) continue;
    const again = await run(seed);
    if (again.traceHash !== result.traceHash) undetermined.push(seed);
  }
  return { request, results, undetermined };
}

// Simulated stores and networks fail thousands of times, and nobody reads the stacks of that. A replay has them.
Error.stackTraceLimit = 0;

const port = parentPort;
assert(port !== null, "this file runs as a thread");
port.on("message", (request: SeedRequest | null) => {
  if (request === null) port.close();
  else void answer(request).then((result) => port.postMessage(result));
});
