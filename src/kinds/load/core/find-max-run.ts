/**
 * The steps of a FIND_MAX run in time. `find-max.ts` says what a step was and what is next; this
 * says when. The progress is stored, so that a coordinator that takes over goes on with the step
 * that was under way. Rules: FR1 to FR4.
 */
import {
  beginFindMax,
  decideNextStep,
  type FindMaxResult,
  type FindMaxState,
  type Rejudged,
  resultSoFar,
  type StepVerdict,
  unconfirmed,
} from "./find-max.ts";
import type { StepStats } from "./find-max-step.ts";
import { connectionsCeiling } from "./load-plan.ts";
import type { FindMaxConfig, Scenario } from "./scenario.ts";

export interface FindMaxProgress {
  readonly state: FindMaxState;
  readonly stage: "settling" | "measuring" | "done";
  readonly sinceMs: number;
  /** The server reported a queue during this step. */
  readonly queueDetected: boolean;
  /** The change of throughput since the step before, in percent. */
  readonly qpsVsPriorPct: number | null;
  readonly result: FindMaxResult | null;
}

const settleMsMax = 5_000;
const lastSnapshotsMs = 1_000;

export function beginProgress(scenario: Scenario, nowMs: number): FindMaxProgress {
  return {
    state: beginFindMax(boundedConfig(scenario)),
    stage: "settling",
    sinceMs: nowMs,
    queueDetected: false,
    qpsVsPriorPct: null,
    result: null,
  };
}

/** The step number sent to workers; 0 while the step settles. */
export function stepOf({ state, stage }: FindMaxProgress): number {
  return stage === "measuring" ? state.step : 0;
}

/** FR1, FR2. */
export function isSettled(
  { findMax: { stepDurationSeconds: seconds } }: Scenario,
  { sinceMs, stage }: FindMaxProgress,
  nowMs: number,
  isEverybodyThere: boolean,
): boolean {
  const settleMs = Math.min(settleMsMax, seconds * 250);
  return stage === "settling" && isEverybodyThere && nowMs >= sinceMs + settleMs;
}

/** FR3 */
export function isMeasured(
  { findMax: { stepDurationSeconds: seconds } }: Scenario,
  { sinceMs, stage }: FindMaxProgress,
  nowMs: number,
): boolean {
  return stage === "measuring" && nowMs >= sinceMs + seconds * 1000 + lastSnapshotsMs;
}

export function measuring(progress: FindMaxProgress, nowMs: number): FindMaxProgress {
  return { ...progress, stage: "measuring", sinceMs: nowMs, queueDetected: false };
}

export function judged(
  scenario: Scenario,
  progress: FindMaxProgress,
  stats: StepStats,
  nowMs: number,
): {
  readonly progress: FindMaxProgress;
  readonly verdict: StepVerdict;
  readonly rejudged: readonly Rejudged[];
} {
  const next = decideNextStep(boundedConfig(scenario), progress.state, stats);
  const { verdict, rejudged } = next;
  const after = {
    ...progress,
    sinceMs: nowMs,
    queueDetected: false,
    qpsVsPriorPct: verdict.qpsVsPriorPct ?? null,
  };
  if (next.kind === "done") {
    return { progress: { ...after, stage: "done", result: next.result }, verdict, rejudged };
  }
  return { progress: { ...after, stage: "settling", state: next.state }, verdict, rejudged };
}

/** The result at the end of the run. */
export function finalResult(
  scenario: Scenario,
  { state, result }: FindMaxProgress,
  end: { readonly reason: string; readonly isGeneratorBound: boolean },
): FindMaxResult {
  const found = result ?? resultSoFar(boundedConfig(scenario), state, end.reason);
  return end.isGeneratorBound && found.true_max
    ? unconfirmed(found, "the load generator was saturated, or did not run all the time")
    : found;
}

/** FR4 */
function boundedConfig(scenario: Scenario): FindMaxConfig {
  const { findMax: config } = scenario;
  const most = Math.min(config.maxConcurrency ?? Infinity, connectionsCeiling(scenario));
  return {
    ...config,
    startConcurrency: Math.min(config.startConcurrency, most),
    maxConcurrency: most === Infinity ? null : most,
  };
}
