/**
 * FIND_MAX_CONCURRENCY: how many connections the target can use. Steps go up until one is not stable; then back, and by halves between
 * the highest that was stable and the lowest that was not; the answer is run once more before it is called one. Pure: the
 * orchestrator measures steps and asks what is next. The state is JSON, so that another coordinator can go on with it.
 *
 *   FM1  Stable is a step whose errors are few, whose p95 is near the baseline's, for which the server says nothing of queueing, and whose
 *        throughput grew with its connections: since a step with two thirds of them by at least 90 % of
 *        what so many more connections promise, or within noise of it.
 *   FM2  Throughput is the mean of the step's seconds, without those in which the target stood still (less than half of the median): a stall
 *        makes it no slower. Not the median itself: connections that move in step end 8 or 9 times in a second, and it is one of the two.
 *   FM3  `true_max` is said only of an answer that a further step confirmed. What ended without (a bound, a stop) says why.
 *   FM4  A start that is beyond the maximum already is found out: the steps go down by halves, and the baseline with them.
 *   FM5  It ends: after the bound of steps at the latest, with the best that was seen.
 */
import type { FindMaxConfig } from "./scenario.ts";

export type StepOutcome =
  | "STABLE"
  | "DEGRADED"
  | "ERROR_THRESHOLD"
  | "QUEUE_DETECTED"
  | "PLATEAU"
  | "BACKOFF"
  | "MIDPOINT"
  | "CONFIRMED";

/** Of one step alone, merged over all workers. */
export interface StepStats {
  /** FM2. */
  readonly qps: number;
  readonly p95Ms: number;
  readonly errorRatePct: number;
  readonly queueDetected: boolean;
}

type Stage = "climb" | "descend" | "backoff" | "midpoint" | "confirm";

interface Seen {
  readonly connections: number;
  readonly qps: number;
  readonly p95Ms: number;
}

export interface FindMaxState {
  readonly step: number;
  readonly connections: number;
  readonly stage: Stage;
  readonly baseline: Seen | undefined;
  /** Stable ones, the highest last. */
  readonly stable: readonly Seen[];
  /** The lowest that was not stable. */
  readonly ceiling: number | undefined;
  readonly ceilingReason: string;
}

export interface StepVerdict {
  readonly outcome: StepOutcome;
  readonly reason: string;
  readonly qpsVsPriorPct: number | undefined;
  readonly p95VsBaselinePct: number | undefined;
}

export interface FindMaxResult {
  readonly max_concurrency: number;
  readonly true_max: boolean;
  readonly qps: number;
  readonly p95_latency_ms: number;
  readonly reason: string;
  readonly steps: number;
}

export type FindMaxNext =
  | { readonly kind: "step"; readonly state: FindMaxState; readonly verdict: StepVerdict }
  | { readonly kind: "done"; readonly result: FindMaxResult; readonly verdict: StepVerdict };

/** Of what as many more connections promise. */
const growthShare = 0.9;
/** Throughput is compared with a step that had so much fewer connections: between near ones noise is all there is. */
const apart = 1.5;
const stepsMax = 100;
/** Two counts nearer than this share are the same answer. */
const resolution = 0.05;

export function beginFindMax({ start_concurrency: connections }: FindMaxConfig): FindMaxState {
  return {
    step: 1,
    connections,
    stage: "climb",
    baseline: undefined,
    stable: [],
    ceiling: undefined,
    ceilingReason: "",
  };
}

/** FM2. */
export function stepRate(seconds: readonly number[]): number {
  const sorted = [...seconds].sort((left, right) => left - right);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  const moving = sorted.filter((rate) => rate >= median / 2);
  return moving.length === 0 ? 0 : moving.reduce((sum, rate) => sum + rate, 0) / moving.length;
}

/** What the step that ended was, and what is next. */
export function decideNextStep(
  config: FindMaxConfig,
  state: FindMaxState,
  stats: StepStats,
): FindMaxNext {
  const trial = judge(config, state, stats);
  const after = settle(config, state, stats, trial);
  const verdict = { ...trial.verdict, outcome: named(state.stage, trial) };
  const next = trial.isStable ? afterStable(config, after) : afterUnstable(after, trial.isFlat);
  if ("reason" in next) return { kind: "done", result: resultOf(after, next), verdict };
  if (state.step >= stepsMax) {
    const ending = { isTrueMax: false, reason: `after ${stepsMax} steps` }; // FM5
    return { kind: "done", result: resultOf(after, ending), verdict };
  }
  return { kind: "step", state: { ...after, ...next, step: state.step + 1 }, verdict };
}

/** A run that is stopped before the end has found what it has seen. */
export function resultSoFar(state: FindMaxState, reason: string): FindMaxResult {
  return resultOf(state, { isTrueMax: false, reason });
}

interface Trial {
  readonly isStable: boolean;
  /** Nothing at all was gained by more connections. */
  readonly isFlat: boolean;
  readonly verdict: StepVerdict;
}

/** FM1. */
function judge(config: FindMaxConfig, state: FindMaxState, stats: StepStats): Trial {
  const { connections, baseline } = state;
  const prior = priorOf(state);
  const qpsVsPriorPct = prior === undefined ? undefined : changePct(stats.qps, prior.qps);
  const p95VsBaselinePct =
    baseline === undefined ? undefined : changePct(stats.p95Ms, baseline.p95Ms);
  const of = (outcome: StepOutcome, reason: string, isFlat = false): Trial => ({
    isStable: outcome === "STABLE",
    isFlat,
    verdict: { outcome, reason, qpsVsPriorPct, p95VsBaselinePct },
  });
  if (stats.errorRatePct > config.max_error_rate_pct) {
    const limit = `${config.max_error_rate_pct} % are allowed`;
    return of(
      "ERROR_THRESHOLD",
      `${round(stats.errorRatePct)} % of the operations failed; ${limit}`,
    );
  }
  if (stats.qps <= 0) return of("ERROR_THRESHOLD", "nothing was answered");
  if (stats.queueDetected) return of("QUEUE_DETECTED", "the server says that operations wait");
  const short = shortfall(config, prior, connections, stats.qps);
  if (p95VsBaselinePct !== undefined && p95VsBaselinePct > config.latency_stability_pct) {
    const found = `p95 is ${round(p95VsBaselinePct)} % above that of the first step`;
    return of("DEGRADED", `${found}; ${config.latency_stability_pct} % are allowed`, short?.isFlat);
  }
  if (short !== undefined) return of("PLATEAU", short.reason, short.isFlat);
  return of("STABLE", "");
}

/** The highest stable step that is far enough below, or else the lowest. */
function priorOf({ stable, connections }: FindMaxState): Seen | undefined {
  const below = stable.filter((seen) => seen.connections < connections);
  return below.findLast((seen) => seen.connections * apart <= connections) ?? below[0];
}

function shortfall(
  { qps_stability_pct: noisePct }: FindMaxConfig,
  prior: Seen | undefined,
  connections: number,
  qps: number,
): { readonly reason: string; readonly isFlat: boolean } | undefined {
  if (prior === undefined) return undefined;
  const promised = connections / prior.connections - 1;
  const gained = qps / prior.qps - 1;
  const missingPct = (1 - (1 + gained) / (1 + promised)) * 100;
  if (gained >= growthShare * promised || missingPct <= noisePct) return undefined;
  const more = `${connections - prior.connections} more connections`;
  const reason = `${more} than ${prior.connections} brought ${round(gained * 100)} % more operations a second instead of ${round(promised * 100)} %`;
  return { reason, isFlat: gained < 0.2 * promised };
}

function settle(
  config: FindMaxConfig,
  state: FindMaxState,
  { qps, p95Ms }: StepStats,
  { isStable, verdict }: Trial,
): FindMaxState {
  const { connections } = state;
  const others = state.stable.filter((each) => each.connections !== connections);
  if (!isStable) {
    // A count that failed now was not stable then, and nothing above it was.
    const stable = others.filter((each) => each.connections < connections);
    return { ...state, stable, ...lowered(state, connections, verdict.reason) };
  }
  const seen = { connections, qps, p95Ms };
  const all = [...others, seen].sort((a, b) => a.connections - b.connections);
  const isBaseline = state.baseline === undefined || connections < state.baseline.connections;
  if (!isBaseline) return { ...state, stable: all };
  // Those above it were judged by a baseline that is none any more.
  const short = all.find(
    (each) =>
      shortfall(config, each === seen ? undefined : seen, each.connections, each.qps) !== undefined,
  );
  if (short === undefined) return { ...state, stable: all, baseline: seen };
  const reason = shortfall(config, seen, short.connections, short.qps)?.reason ?? "";
  const stable = all.filter((each) => each.connections < short.connections);
  return { ...state, stable, baseline: seen, ...lowered(state, short.connections, reason) };
}

function lowered(
  { ceiling = Infinity }: FindMaxState,
  connections: number,
  reason: string,
): Partial<FindMaxState> {
  return connections <= ceiling ? { ceiling: connections, ceilingReason: reason } : {};
}

type Next = Pick<FindMaxState, "connections" | "stage">;
interface Ending {
  readonly isTrueMax: boolean;
  readonly reason: string;
}

function afterStable(config: FindMaxConfig, state: FindMaxState): Next | Ending {
  const { connections, stage, ceiling } = state;
  if (stage === "confirm") return { isTrueMax: true, reason: `above it: ${state.ceilingReason}` };
  if (stage === "descend" && state.stable.length === 1 && connections > 1) return descend(state);
  if (ceiling !== undefined) return between(state);
  const most = config.max_concurrency ?? Infinity;
  if (connections >= most) return { isTrueMax: false, reason: `${most} connections were allowed` };
  return {
    connections: Math.min(most, connections + config.concurrency_increment),
    stage: "climb",
  };
}

function afterUnstable(state: FindMaxState, isFlat: boolean): Next | Ending {
  const highest = state.stable.at(-1);
  const isSuspect = isFlat && state.stage === "climb" && state.stable.length === 1;
  if (highest === undefined || isSuspect) return descend(state);
  if (state.stage === "climb") return { connections: highest.connections, stage: "backoff" };
  return between(state);
}

/** FM4. */
function descend(state: FindMaxState): Next | Ending {
  const lowest = Math.min(state.ceiling ?? Infinity, state.stable[0]?.connections ?? Infinity);
  if (lowest <= 1) {
    const isOne = state.stable.length > 0;
    if (isOne) return between(state);
    return { isTrueMax: false, reason: state.ceilingReason };
  }
  return { connections: Math.max(1, Math.floor(lowest / 2)), stage: "descend" };
}

/** By halves between the highest stable and the ceiling; when there is nothing between, the highest is confirmed. */
function between({ stable, ceiling = Infinity }: FindMaxState): Next | Ending {
  const below = stable.findLast(({ connections }) => connections < ceiling);
  if (below === undefined) return { isTrueMax: false, reason: "no step was stable" };
  const gap = ceiling - below.connections;
  if (gap <= Math.max(1, resolution * below.connections)) {
    return { connections: below.connections, stage: "confirm" };
  }
  return { connections: below.connections + Math.floor(gap / 2), stage: "midpoint" };
}

/** A stable step is called by what it was for. */
function named(stage: Stage, { isStable, verdict }: Trial): StepOutcome {
  if (!isStable) return verdict.outcome;
  if (stage === "confirm") return "CONFIRMED";
  if (stage === "midpoint") return "MIDPOINT";
  return stage === "climb" ? "STABLE" : "BACKOFF";
}

function resultOf({ stable, ceiling, step }: FindMaxState, ending: Ending): FindMaxResult {
  const best = stable.findLast(({ connections }) => connections < (ceiling ?? Infinity));
  return {
    max_concurrency: best?.connections ?? 0,
    true_max: ending.isTrueMax,
    qps: best?.qps ?? 0,
    p95_latency_ms: best?.p95Ms ?? 0,
    reason: ending.reason,
    steps: step,
  };
}

function changePct(now: number, before: number): number {
  return before === 0 ? 0 : (now / before - 1) * 100;
}

function round(value: number): string {
  return value.toFixed(Math.abs(value) < 10 ? 1 : 0);
}
