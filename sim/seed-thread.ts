/** A thread that runs seeds as it is told to, until it is told nothing. */
import { parentPort } from "node:worker_threads";
import { assert } from "../src/kernel/errors.ts";
import { planOf } from "./plan.ts";
import { findPlant } from "./plants/plants.ts";
import { type RunResult, runPlan } from "./run-plan.ts";
import { productionSeams } from "./seams.ts";

export interface SeedRequest {
  readonly seeds: readonly number[];
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

async function answer(request: SeedRequest): Promise<SeedAnswer> {
  const { plant, checkDeterminism, untilViolation } = request;
  const seams = plant === undefined ? productionSeams : findPlant(plant)?.seams;
  assert(seams !== undefined, "the plant was looked up before");
  const results: RunResult[] = [];
  const undetermined: number[] = [];
  for (const seed of request.seeds) {
    const result = await runPlan(planOf(seed), { seams });
    results.push(result);
    if (untilViolation && result.violation !== undefined) break;
    if (!checkDeterminism) continue;
    const again = await runPlan(planOf(seed), { seams });
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
