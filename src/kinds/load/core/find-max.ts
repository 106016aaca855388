/**
 * FIND_MAX_CONCURRENCY: how many connections the target can use. Steps go up until one is not
 * stable; then back, and by halves between the highest that was stable and the lowest that was not;
 * both are run once more before the answer is called confirmed. Pure: the orchestrator measures
 * steps and asks what is next. The state is JSON, so that another coordinator can go on with it.
 * Rules: FM1, FM3 to FM5, FM9 and FM10.
 */
import type { StepStats } from "./find-max-step.ts";
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

type Stage = "climb" | "descend" | "backoff" | "midpoint" | "confirm";

/** What is known of one number of connections. */
interface Seen extends StepStats {
  readonly connections: number;
  /** The step numbers of its attempts. */
  readonly steps: readonly number[];
  /** The stage of each attempt. Undefined in a state that an earlier version stored. */
  readonly stages?: readonly Stage[];
}

export interface FindMaxState {
  readonly step: number;
  readonly connections: number;
  readonly stage: Stage;
  /** Ordered by connections, the fewest first. */
  readonly seen: readonly Seen[];
}

export interface StepVerdict {
  /** Null when unclear. */
  readonly outcome: StepOutcome | null;
  readonly reason: string;
  readonly qpsVsPriorPct: number | undefined;
  readonly p95VsBaselinePct: number | undefined;
}

/** An earlier step whose verdict has changed (FM10). */
export interface Rejudged {
  readonly step: number;
  readonly connections: number;
  readonly before: StepVerdict;
  readonly verdict: StepVerdict;
}

export interface FindMaxResult {
  /** The highest stable number of connections. */
  readonly max_concurrency: number;
  readonly true_max: boolean;
  readonly qps: number;
  readonly p95_latency_ms: number;
  readonly reason: string;
  readonly steps: number;
  /**
   * The maximum lies between these numbers, both inclusive. `high` is null when nothing above was
   * unstable. Both are null when the generator was late, because the figures are then not the
   * target's alone.
   */
  readonly low: number | null;
  readonly high: number | null;
}

export type FindMaxNext = (
  | { readonly kind: "step"; readonly state: FindMaxState }
  | { readonly kind: "done"; readonly result: FindMaxResult }
) & { readonly verdict: StepVerdict; readonly rejudged: readonly Rejudged[] };

/** The required share of the growth that the additional connections promise. */
const growthShare = 0.9;
/**
 * Throughput is compared with a step that has this factor fewer connections: closer steps differ
 * only by noise.
 */
const apart = 1.5;
/**
 * Growth below this share of the promised growth counts as none: the lower step may be beyond the
 * maximum itself.
 */
const flatShare = 0.2;
const stepsMax = 100;
const attemptsMax = 4;
/** After this many unclear counts the answer cannot become more exact. */
const unclearMax = 2;
const untold = `steps could not be told apart after ${attemptsMax} attempts`;
/** Two counts that differ by less than this share are the same. */
const resolution = 0.05;
/** An answer is accepted when it is known within this share. */
const answerWithin = 0.1;

export function beginFindMax({ startConcurrency: connections }: FindMaxConfig): FindMaxState {
  return { step: 1, connections, stage: "climb", seen: [] };
}

/**
 * The step numbers of all attempts with the current number of connections; the current attempt is
 * last.
 */
export function attemptsOf({ step, connections, seen = [] }: FindMaxState): readonly number[] {
  return [...(seen.find((each) => each.connections === connections)?.steps ?? []), step];
}

/** Undefined before there is a baseline. */
export function baselineP95Ms({ seen = [] }: FindMaxState): number | undefined {
  return seen.find(({ qps }) => qps > 0)?.p95Ms;
}

/** Judges the step that ended and decides the next one. `stats` covers all its attempts. */
export function decideNextStep(
  config: FindMaxConfig,
  state: FindMaxState,
  stats: StepStats,
): FindMaxNext {
  const { connections, step, seen = [] } = state;
  const others = seen.filter((each) => each.connections !== connections);
  const earlier = seen.find((each) => each.connections === connections);
  const now: Seen = {
    ...stats,
    connections,
    steps: attemptsOf(state),
    stages: [...stagesOf(earlier), state.stage],
  };
  const all = [...others, now].sort((a, b) => a.connections - b.connections);
  const after: FindMaxState = { ...state, seen: all };
  const judged = judgeAll(config, all);
  const trial = judged.find((each) => each.seen === now);
  const verdicts = {
    verdict: verdictOf(state.stage, trial),
    rejudged: rejudgedSteps(judgeAll(config, seen), judged),
  };
  const next = decideAfter(config, after, judged);
  if ("isTrueMax" in next) {
    return { kind: "done", result: resultOf(after, judged, next), ...verdicts };
  }
  if (step >= stepsMax) {
    const ending = { isTrueMax: false, reason: `after ${stepsMax} steps` }; // FM5
    return { kind: "done", result: resultOf(after, judged, ending), ...verdicts };
  }
  return { kind: "step", state: { ...after, ...next, step: step + 1 }, ...verdicts };
}

/**
 * The steps whose verdict changed (FM10). `before` and `after` are the judgements without and with
 * the step that ended.
 */
function rejudgedSteps(before: readonly Judged[], after: readonly Judged[]): readonly Rejudged[] {
  return before.flatMap((was) => {
    const { connections, steps } = was.seen;
    const now = after.find(({ seen }) => seen.connections === connections);
    const stages = stagesOf(was.seen);
    return steps
      .map((step, index) => ({
        step,
        connections,
        before: verdictOf(stages[index] ?? "climb", was),
        verdict: verdictOf(stages[index] ?? "climb", now),
      }))
      .filter((each) => JSON.stringify(each.before) !== JSON.stringify(each.verdict));
  });
}

function stagesOf(seen: Seen | undefined): readonly Stage[] {
  return seen?.stages ?? seen?.steps.map(() => "climb") ?? [];
}

/** The result of a run that is stopped early. */
export function resultSoFar(
  config: FindMaxConfig,
  state: FindMaxState,
  reason: string,
): FindMaxResult {
  return resultOf(state, judgeAll(config, state.seen ?? []), { isTrueMax: false, reason });
}

/**
 * The result without confirmation: a run whose generator was the bottleneck has no confirmed answer
 * (FM3).
 */
export function unconfirmed(result: FindMaxResult, why: string): FindMaxResult {
  return { ...result, true_max: false, low: null, high: null, reason: `${why}; ${result.reason}` };
}

/** The answer as text. Results of older runs have no bounds. */
export function findMaxAnswer(result: FindMaxResult): string {
  const { max_concurrency: found, true_max: isTrue, low = null, high = null } = result;
  const count = (connections: number): string =>
    `${connections} ${connections === 1 ? "connection" : "connections"}`;
  if (isTrue) return `${count(found)}, confirmed`;
  if (found === 0) return "no number of connections kept to the limits";
  if (low === null) return `${count(found)}, not confirmed`;
  if (high === null) return `at least ${count(low)}`;
  return high === low ? `${count(low)}, not confirmed` : `between ${low} and ${count(high)}`;
}

type Kind = "stable" | "short" | "unclear";

interface Judged {
  readonly seen: Seen;
  readonly kind: Kind;
  readonly outcome: StepOutcome | null;
  readonly reason: string;
  /** The step that it was compared with. */
  readonly prior: Seen | undefined;
  readonly baseline: Seen | undefined;
}

/**
 * Judges the steps, the fewest connections first: each is compared with the stable steps below it
 * (FM1).
 */
function judgeAll(config: FindMaxConfig, all: readonly Seen[]): readonly Judged[] {
  const judged: Judged[] = [];
  for (const seen of all) {
    const stable = judged.filter(({ kind }) => kind === "stable").map((each) => each.seen);
    const far = stable.findLast(({ connections }) => connections * apart <= seen.connections);
    const prior = far ?? stable[0];
    const baseline = stable[0];
    const found = [
      failureOf(config, seen),
      tailFailure(config, baseline, seen),
      shortfall(config, prior, seen),
    ].filter((finding) => finding !== undefined);
    const worst = found.find(({ kind }) => kind === "short") ?? found[0] ?? stableFinding;
    judged.push({ seen, prior, baseline, ...(lateness(seen) ?? worst) });
  }
  return judged;
}

type Finding = Pick<Judged, "kind" | "outcome" | "reason">;
const stableFinding: Finding = { kind: "stable", outcome: "STABLE", reason: "" };

/** A late step is tried again up to the limit (FM7). */
function lateness({ isLate, steps }: Seen): Finding | undefined {
  if (!isLate || steps.length >= attemptsMax) return undefined;
  return { kind: "unclear", outcome: null, reason: "the load generator was late" };
}

function failureOf(
  { maxErrorRatePct: limit }: FindMaxConfig,
  { qps, errorRatePct: errors, ops, queuedShare }: Seen,
): Finding | undefined {
  const unclear = (reason: string): Finding => ({ kind: "unclear", outcome: null, reason });
  const failed = `${round(errors)} % of the operations failed; ${limit} % are allowed`;
  const chance = 200 * Math.sqrt(((limit / 100) * (1 - limit / 100)) / Math.max(1, ops));
  if (errors > limit + chance) {
    return { kind: "short", outcome: "ERROR_THRESHOLD", reason: failed };
  }
  if (qps <= 0)
    return { kind: "short", outcome: "ERROR_THRESHOLD", reason: "nothing was answered" };
  if (errors > limit) return unclear(failed);
  const queued = "the server says that operations wait";
  if (queuedShare >= 0.5) return { kind: "short", outcome: "QUEUE_DETECTED", reason: queued };
  return queuedShare > 0 ? unclear(`${queued}, at times`) : undefined;
}

function tailFailure(
  { latencyStabilityPct: limitPct }: FindMaxConfig,
  baseline: Seen | undefined,
  { p95Ms, p95LowMs }: Seen,
): Finding | undefined {
  if (baseline === undefined) return undefined;
  const factor = 1 + limitPct / 100;
  if (p95Ms <= baseline.p95Ms * factor) return undefined;
  const above = `p95 is ${round((p95Ms / baseline.p95Ms - 1) * 100)} % above that of ${baseline.connections}`;
  const reason = `${above}; ${limitPct} % are allowed`;
  const isClear = p95LowMs > baseline.p95HighMs * factor;
  return isClear
    ? { kind: "short", outcome: "DEGRADED", reason }
    : { kind: "unclear", outcome: null, reason };
}

function shortfall(
  { qpsStabilityPct: noisePct }: FindMaxConfig,
  prior: Seen | undefined,
  seen: Seen,
): Finding | undefined {
  if (prior === undefined) return undefined;
  const promised = seen.connections / prior.connections;
  const wanted = Math.min(1 + growthShare * (promised - 1), promised * (1 - noisePct / 100));
  const gained = (seen.qps / prior.qps - 1) * 100;
  const more = `${seen.connections - prior.connections} more connections`;
  const reason = `${more} than ${prior.connections} brought ${round(gained)} % more operations a second instead of ${round((promised - 1) * 100)} %`;
  const error = Math.hypot(errorOf(seen), errorOf(prior));
  const ratio = seen.qps / prior.qps;
  if (ratio * (1 + error) < wanted) return { kind: "short", outcome: "PLATEAU", reason };
  if (ratio * (1 - error) >= wanted) return undefined;
  return { kind: "unclear", outcome: null, reason };
}

/** The relative error of the rate. */
function errorOf({ qps, qpsHigh }: Seen): number {
  return qpsHigh / qps - 1;
}

type Next = Pick<FindMaxState, "connections" | "stage">;
interface Ending {
  readonly isTrueMax: boolean;
  readonly isLate?: true;
  readonly reason: string;
}

/**
 * `low` is the highest stable step below all unstable ones, `high` the lowest unstable step above
 * all stable ones. Contradictions lie between them.
 */
function boundsOf(judged: readonly Judged[]): {
  low: Judged | undefined;
  high: Judged | undefined;
} {
  const firstShort = judged.findIndex(({ kind }) => kind === "short");
  const lastStable = judged.findLastIndex(({ kind }) => kind === "stable");
  const below = firstShort < 0 ? judged : judged.slice(0, firstShort);
  return {
    low: below.findLast(({ kind }) => kind === "stable"),
    high: judged.slice(lastStable + 1).find(({ kind }) => kind === "short"),
  };
}

function decideAfter(
  config: FindMaxConfig,
  state: FindMaxState,
  judged: readonly Judged[],
): Next | Ending {
  const repeated = decideRepeat(config, state, judged);
  if (repeated !== undefined) return repeated;
  const { low, high } = boundsOf(judged);
  const highest = judged.at(-1)?.seen.connections ?? 0;
  if (high === undefined) {
    const most = config.maxConcurrency ?? Infinity;
    if (highest >= most) return { isTrueMax: false, reason: `${most} connections were allowed` };
    const unclear = judged.filter(({ seen }) => seen.connections > (low?.seen.connections ?? 0));
    if (unclear.length >= unclearMax) return { isTrueMax: false, reason: untold };
    return { connections: Math.min(most, highest + config.concurrencyIncrement), stage: "climb" };
  }
  const lowest = judged[0]?.seen.connections ?? 1;
  if (low === undefined || (low.seen.connections === lowest && !isProven(judged))) {
    if (lowest > 1) return { connections: Math.floor(lowest / 2), stage: "descend" }; // FM4
    if (low === undefined) return { isTrueMax: false, reason: high.reason };
  }
  if (state.stage === "climb" && state.connections > low.seen.connections && isNew(low)) {
    return { connections: low.seen.connections, stage: "backoff" };
  }
  return decideBetween(state, judged, low, high);
}

/**
 * The step to repeat (FM9): one without a result, one that is unclear near the answer, or one that
 * contradicts another. A climb continues after one unclear step, since a stable higher one settles
 * it, but not after two.
 */
function decideRepeat(
  { maxConcurrency: most }: FindMaxConfig,
  state: FindMaxState,
  judged: readonly Judged[],
): Next | undefined {
  const { low, high } = boundsOf(judged);
  const isAtMost = (judged.at(-1)?.seen.connections ?? 0) >= (most ?? Infinity);
  const late = judged.filter(({ seen }) => lateness(seen) !== undefined);
  const between = judged.filter(
    ({ seen }) =>
      seen.connections > (low?.seen.connections ?? 0) &&
      seen.connections < (high?.seen.connections ?? Infinity),
  );
  const isClimbing = high === undefined && !isAtMost && between.length < unclearMax;
  const [least] = [...late, ...(isClimbing ? [] : between)]
    .flatMap(({ seen, prior }) => (prior === undefined ? [seen] : [seen, prior]))
    .filter(({ steps }) => steps.length < attemptsMax)
    .toSorted((a, b) => a.steps.length - b.steps.length);
  if (least === undefined) return undefined;
  const isAgain = least.connections === state.connections;
  return { connections: least.connections, stage: isAgain ? state.stage : "backoff" };
}

/** Whether throughput grew above the lowest step, so that this step is not beyond the maximum. */
function isProven([first, ...others]: readonly Judged[]): boolean {
  if (first === undefined || first.seen.connections === 1) return true;
  const { connections: from, qpsHigh } = first.seen;
  return others.some(({ seen }) => {
    const promised = seen.connections / from - 1;
    return seen.qpsLow / qpsHigh - 1 >= flatShare * promised;
  });
}

/** Bisects between the two. When nothing lies between, measures both again, the answer last. */
function decideBetween(
  state: FindMaxState,
  judged: readonly Judged[],
  low: Judged,
  high: Judged,
): Next | Ending {
  const inside = judged.filter(
    ({ seen }) =>
      seen.connections >= low.seen.connections && seen.connections <= high.seen.connections,
  );
  const unclear = inside.filter(({ kind }) => kind === "unclear").length;
  for (const [index, { seen }] of inside.entries()) {
    if (unclear >= unclearMax) break;
    const above = inside[index + 1]?.seen.connections;
    if (above === undefined) break;
    const gap = above - seen.connections;
    if (gap > Math.max(1, resolution * low.seen.connections)) {
      return { connections: seen.connections + Math.floor(gap / 2), stage: "midpoint" };
    }
  }
  if (isNew(high)) return { connections: high.seen.connections, stage: "confirm" };
  const { connections, steps } = low.seen;
  const isConfirmed = state.stage === "confirm" && state.connections === connections;
  if (isConfirmed || steps.length >= attemptsMax) return endingOf(inside, low, high);
  return { connections, stage: "confirm" };
}

/**
 * Whether the answer is confirmed (FM3). `inside` are the steps from `low` to `high`, both
 * inclusive.
 */
function endingOf(inside: readonly Judged[], low: Judged, high: Judged): Ending {
  const { connections: from } = low.seen;
  const gap = high.seen.connections - from;
  const late = [low, high].filter(({ seen }) => seen.isLate);
  const above = `above it: ${high.reason}`;
  if (late.length > 0) {
    const counts = late.map(({ seen }) => seen.connections).join(" and ");
    const reason = `the load generator was late in most seconds with ${counts} connections; ${above}`;
    return { isTrueMax: false, isLate: true, reason };
  }
  const failed = inside.find(({ kind }) => kind === "short");
  const held = inside.findLast(({ kind }) => kind === "stable");
  if (failed !== undefined && held !== undefined && held !== low) {
    const counts = `${held.seen.connections} connections were stable and ${failed.seen.connections} were not`;
    return {
      isTrueMax: false,
      reason: `steps contradict each other: ${counts} (${failed.reason})`,
    };
  }
  if (gap <= Math.max(1, answerWithin * from)) return { isTrueMax: true, reason: above };
  return { isTrueMax: false, reason: untold };
}

function isNew({ seen }: Judged): boolean {
  return seen.steps.length < 2;
}

/** A stable step is named after its stage. */
function verdictOf(stage: Stage, trial: Judged | undefined): StepVerdict {
  const { seen, prior, baseline, kind, outcome = null, reason = "" } = trial ?? {};
  const change = (now: number, before: number | undefined): number | undefined =>
    before === undefined || before === 0 ? undefined : (now / before - 1) * 100;
  return {
    outcome: kind === "stable" ? stableOutcomes[stage] : outcome,
    reason: kind === "unclear" ? `unclear: ${reason}` : reason,
    qpsVsPriorPct: change(seen?.qps ?? 0, prior?.qps),
    p95VsBaselinePct: change(seen?.p95Ms ?? 0, baseline?.p95Ms),
  };
}

const stableOutcomes: Readonly<Record<Stage, StepOutcome>> = {
  climb: "STABLE",
  descend: "BACKOFF",
  backoff: "BACKOFF",
  midpoint: "MIDPOINT",
  confirm: "CONFIRMED",
};

function resultOf(
  { step }: FindMaxState,
  judged: readonly Judged[],
  { isTrueMax, isLate, reason }: Ending,
): FindMaxResult {
  const { low, high } = boundsOf(judged);
  const best = low?.seen;
  const isKnown = isLate === undefined;
  return {
    max_concurrency: best?.connections ?? 0,
    true_max: isTrueMax,
    qps: best?.qps ?? 0,
    p95_latency_ms: best?.p95Ms ?? 0,
    reason,
    steps: step,
    low: isKnown ? (best?.connections ?? 0) : null,
    high: high === undefined || !isKnown ? null : high.seen.connections - 1,
  };
}

function round(value: number): string {
  return value.toFixed(Math.abs(value) < 10 ? 1 : 0);
}
