/**
 * Whether a run is good, whatever its objectives: a target that only fails, hangs or is away has
 * not passed. Rules: VE1 to VE5.
 */
import { type Availability, usualFactor } from "./availability.ts";
import type { FindMaxResult } from "./find-max.ts";
import type { LoadMode, VerdictConfig } from "./scenario.ts";
import { missedSlos, type SloResult, shown } from "./slo.ts";

export const verdictDefaults = {
  needsSuccess: true,
  maxErrorRatePct: 5,
  maxUnservedPct: 1,
  minAvailabilityPct: 99,
} satisfies VerdictConfig;
/**
 * Of an operation that fails no more often than the default allows, three failures of three are one
 * case in 8,000.
 */
const dueMin = 3;
/** The default (VE4). */
const silenceSecondsMax = 5;

export interface VerdictFacts {
  readonly loadMode: LoadMode;
  readonly ops: number;
  readonly errors: number;
  readonly unserved: number;
  /** Operations that were due at least once. */
  readonly operations: readonly {
    readonly operation: string;
    readonly ops: number;
    readonly errors: number;
    readonly unserved: number | null;
  }[];
  /** Null when unknown. */
  readonly availability: Availability | null;
  /** The result of a search for the maximum. Null when the run is none, or did not begin it. */
  readonly search: Pick<FindMaxResult, "max_concurrency" | "reason"> | null;
  /** The run was not cancelled and did not fail, so that missing figures are a failure. */
  readonly hasCompleted: boolean;
}

export interface RunVerdict {
  readonly verdict: "PASSED" | "FAILED" | null;
  /** Why it failed: limits first, then objectives. */
  readonly reasons: readonly string[];
  /** A limit was broken: the run failed whatever its objectives. */
  readonly has_broken_limits: boolean;
  /** VE2 */
  readonly allowances: readonly string[];
}

export function judgeRun(config: VerdictConfig, facts: VerdictFacts, slo: SloResult): RunVerdict {
  const broken = brokenLimits(config, facts);
  const reasons = [...broken, ...missedSlos(slo)];
  return {
    verdict: broken.length > 0 ? "FAILED" : passedAtEnd(slo.verdict, facts.hasCompleted),
    reasons,
    has_broken_limits: broken.length > 0,
    allowances: [...allowancesOf(config), ...relaxedSilence(config, facts)],
  };
}

/** VE5 */
export function passedAtEnd(verdict: RunVerdict["verdict"], hasCompleted: boolean): typeof verdict {
  return verdict === "PASSED" && !hasCompleted ? null : verdict;
}

/** VE1 */
function brokenLimits(config: VerdictConfig, facts: VerdictFacts): readonly string[] {
  const { ops, errors, unserved, availability, loadMode } = facts;
  const due = ops + unserved;
  if (due === 0 && !facts.hasCompleted) return [];
  if (config.needsSuccess && ops - errors === 0) {
    const what = due === 0 ? "nothing was measured" : `${errors} failed, ${unserved} unserved`;
    return [`no operation succeeded: ${what}`];
  }
  const reasons: string[] = config.needsSuccess ? neverSucceeded(facts) : [];
  if (loadMode === "FIND_MAX_CONCURRENCY") {
    return config.needsSuccess ? [...reasons, ...failedSearch(facts)] : [];
  }
  const {
    maxErrorRatePct: errorsMax,
    maxUnservedPct: unservedMax,
    minAvailabilityPct: availabilityMin,
  } = config;
  const errorPct = ops === 0 ? 0 : (errors / ops) * 100;
  const unservedPct = due === 0 ? 0 : (unserved / due) * 100;
  const availabilityPct = availability?.availability_pct ?? 100;
  const silenceMs = availability?.longest_silence_ms ?? 0;
  const silenceMsMax = silenceLimitMs(config, availability);
  if (errorsMax !== null && errorPct > errorsMax) {
    reasons.push(
      `error rate ${shown(errorPct)} %: ${errors} of ${ops} operations failed; at most ${errorsMax} % is allowed`,
    );
  }
  if (unservedMax !== null && unservedPct > unservedMax) {
    reasons.push(
      `${unserved} of ${due} arrivals (${shown(unservedPct)} %) were due and never answered; at most ${unservedMax} % is allowed`,
    );
  }
  if (availabilityMin !== null && availabilityPct < availabilityMin) {
    const stalledPct = availability?.stalled_pct ?? 0;
    const what =
      stalledPct > 0 && stalledPct >= 100 - availabilityPct
        ? `connections waited without an answer for ${shown(stalledPct)} % of their time`
        : "the target did not answer for the rest of the time";
    reasons.push(`availability ${shown(availabilityPct)} %: ${what}; minimum ${availabilityMin} %`);
  }
  if (silenceMsMax !== null && silenceMs > silenceMsMax) {
    reasons.push(
      `longest silence ${shown(silenceMs / 1000)} s without a successful answer; at most ${shown(silenceMsMax / 1000)} s is allowed`,
    );
  }
  return reasons;
}

/** Operations that never succeeded while others did. */
function neverSucceeded({ operations }: VerdictFacts): string[] {
  return operations.flatMap(({ operation, ops, errors, unserved }) =>
    ops > errors || ops + (unserved ?? 0) < dueMin
      ? []
      : [`operation ${operation} never succeeded: ${errors} failed, ${unserved ?? 0} unserved`],
  );
}

/** VE3 */
function failedSearch({ search, hasCompleted }: VerdictFacts): readonly string[] {
  if (search === null || search.max_concurrency > 0 || !hasCompleted) return [];
  return [`no number of connections kept to the limits of the search: ${search.reason}`];
}

/** VE4 */
function silenceLimitMs(
  { maxSilenceSeconds: seconds }: VerdictConfig,
  availability: Availability | null,
): number | null {
  if (seconds !== undefined) return seconds === null ? null : seconds * 1000;
  return Math.max(silenceSecondsMax * 1000, availability?.usual_silence_ms ?? 0);
}

/** VE4 */
function relaxedSilence(
  config: VerdictConfig,
  { availability, loadMode }: VerdictFacts,
): readonly string[] {
  const limitMs = silenceLimitMs(config, availability);
  if (loadMode === "FIND_MAX_CONCURRENCY" || config.maxSilenceSeconds !== undefined) return [];
  if (limitMs === null || limitMs <= silenceSecondsMax * 1000) return [];
  return [
    `silences up to ${shown(limitMs / 1000)} s are allowed instead of ${silenceSecondsMax} s, because answers usually are ${shown(limitMs / 1000 / usualFactor)} s apart; verdict.max_silence_seconds sets a limit`,
  ];
}

/** VE2 */
function allowancesOf(config: VerdictConfig): readonly string[] {
  const usuals = { ...verdictDefaults, maxSilenceSeconds: silenceSecondsMax };
  const limits = [
    ["maxErrorRatePct", "error rate", "at most", " %"],
    ["maxUnservedPct", "unserved arrivals", "at most", " %"],
    ["minAvailabilityPct", "availability", "at least", " %"],
    ["maxSilenceSeconds", "longest silence", "at most", " s"],
  ] as const;
  const changed = limits.flatMap(([field, name, bound, unit]) => {
    const [own, usual] = [config[field], usuals[field]];
    if (own === usual || own === undefined) return [];
    const rule = own === null ? "not judged" : `${bound} ${own}${unit}`;
    return [`the template's own limit: ${name} ${rule} (default ${bound} ${usual}${unit})`];
  });
  return config.needsSuccess
    ? changed
    : ["the template's own limit: a run passes even if no operation succeeded", ...changed];
}
