/** A thread that runs the seeds that it is sent, until its process ends. */
import { parentPort } from "node:worker_threads";
import { assert } from "../src/ground/kernel/errors.ts";
import { diskSeams } from "./disk/disk-seams.ts";
import { runDiskSeed } from "./disk/run-disk-seed.ts";
import { isDiskSuite, planIn, type Suite } from "./plan.ts";
import { findPlant } from "./plants/plants.ts";
import { type RunResult, runPlan } from "./run-plan.ts";
import { productionSeams } from "./seams.ts";

export interface SeedRequest {
  readonly seeds: readonly number[];
  readonly suite: Suite;
  /** Undefined for unchanged production code. */
  readonly plant: string | undefined;
  readonly checkDeterminism: boolean;
  /** Stops at the first seed with a violation. */
  readonly untilViolation: boolean;
}

export interface SeedAnswer {
  readonly request: SeedRequest;
  /** The results of the seeds that were run, in order. */
  readonly results: readonly RunResult[];
  readonly undetermined: readonly number[];
}

type Runner = (seed: number) => Promise<RunResult>;

/** A planted bug decides in which suite it shows. */
function runnerOf(plant: string | undefined, suite: Suite): Runner {
  const found = plant === undefined ? undefined : findPlant(plant);
  assert(plant === undefined || found !== undefined, "the plant was looked up before");
  const which = found?.suite ?? suite;
  if (isDiskSuite(which)) {
    const seams = found?.disk ?? diskSeams;
    return (seed) => runDiskSeed(which, seed, { seams });
  }
  const seams = found?.seams ?? productionSeams;
  return (seed) => runPlan(planIn(which, seed), { seams });
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

// Simulated faults throw thousands of errors whose stacks nobody reads. A replay has them.
Error.stackTraceLimit = 0;

const port = parentPort;
assert(port !== null, "this file runs as a thread");
port.on("message", (request: SeedRequest) => {
  void answer(request).then((result) => port.postMessage(result));
});
