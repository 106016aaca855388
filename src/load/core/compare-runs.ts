/**
 * Whether a run is better or worse than another. Seconds of a run resemble their neighbours, so they are gathered into blocks; blocks
 * are compared by rank, and a difference counts only if it is both unlikely to be noise and large enough to matter.
 *
 *   CP1  A run against itself is NEUTRAL.
 *   CP2  Noise alone is called a REGRESSION in fewer than 2 of 100 comparisons; a slowdown by a tenth is found in more than 95.
 *   CP3  REGRESSION: a main figure (rate, median, p95, errors) is worse. WARNING: only p99 or one operation is, or the difference is less than
 *        a regression yet no noise, or one of the runs does not measure what it should. IMPROVEMENT: something is better and nothing worse.
 *   CP4  Too few seconds to tell: a large difference is a WARNING, never a verdict.
 *   CP5  Every verdict has its reasons, and every difference in configuration is listed.
 *   CP6  Where arrivals are scheduled the rate is given, not found: it does not speak for a run.
 */
import { createPrng } from "../../kernel/prng.ts";
import { type ConfigDifference, configDifferences } from "./config-differences.ts";
import { toMs } from "./figures.ts";
import { type Histogram, mergeHistograms } from "./histogram.ts";
import type { Scenario } from "./scenario.ts";
import { bootstrapChangePct, mannWhitneyP, medianOf } from "./statistics.ts";

/** A second of MEASUREMENT. */
export interface ComparedSecond {
  readonly ops: number;
  readonly errors: number;
  readonly response: Histogram;
}

export interface ComparedRun {
  readonly run_id: string;
  readonly test_name: string;
  readonly scenario: Scenario;
  readonly seconds: readonly ComparedSecond[];
  /** Over the whole MEASUREMENT, by operation. */
  readonly operations: Readonly<Record<string, { readonly response: Histogram }>>;
  readonly generator_bound: boolean;
  readonly percentiles_valid: boolean;
}

export type ComparisonVerdict = "IMPROVEMENT" | "NEUTRAL" | "WARNING" | "REGRESSION";

export interface MetricDifference {
  readonly metric: "qps" | "p50" | "p95" | "p99" | "error_rate_pct";
  /** An operation's name, or `ALL`. */
  readonly of: string;
  readonly before: number | null;
  readonly after: number | null;
  readonly change_pct: number | null;
  /** 95 %; `null` where there are too few seconds. */
  readonly interval_pct: readonly [number, number] | null;
  readonly p_value: number | null;
  readonly verdict: "better" | "same" | "slightly worse" | "worse" | "unsure";
}

export interface RunComparison {
  readonly base_run_id: string;
  readonly run_id: string;
  readonly verdict: ComparisonVerdict;
  readonly reasons: readonly string[];
  readonly metrics: readonly MetricDifference[];
  readonly configuration: readonly ConfigDifference[];
}

/** Each against the first. */
export function compareRuns(
  base: ComparedRun,
  others: readonly ComparedRun[],
): readonly RunComparison[] {
  return others.map((run) => compareTwo(base, run));
}

/** Blocks of so many at most, so that one is long enough to be like no other. */
const blocksMax = 30;
const blocksMin = 8;
/** Shared by the figures that are looked at. */
const errorChance = 0.01;
/** Changes below these matter to nobody, in percent: such a difference is no verdict however sure it is. */
const matters = { qps: 5, p50: 5, p95: 7, p99: 10 } as const;
const slightShare = 0.6;
/** Percentage points. */
const errorsMatter = 0.1;

function compareTwo(base: ComparedRun, run: ComparedRun): RunComparison {
  const metrics = [...overall(base, run), ...byOperation(base, run)];
  const doubts = doubtsOf(base, run);
  const configuration = configDifferences(base.scenario, run.scenario);
  const { verdict, reasons } = judge(metrics, doubts);
  const likeness = workloadReason(configuration, verdict);
  return {
    base_run_id: base.run_id,
    run_id: run.run_id,
    verdict,
    reasons: [...reasons, ...likeness],
    metrics,
    configuration,
  };
}

function overall(base: ComparedRun, run: ComparedRun): readonly MetricDifference[] {
  const [left, right] = [blocksOf(base.seconds), blocksOf(run.seconds)];
  const isEnough = left.length >= blocksMin && right.length >= blocksMin; // CP4
  const isGiven = run.scenario.workload.load_mode === "QPS"; // CP6
  const [before, after] = [totalOf(left), totalOf(right)];
  const chance = errorChance / 4;
  const differences = (["qps", "p50", "p95", "p99"] as const).map((metric): MetricDifference => {
    const values = [left, right].map((blocks) => blocks.flatMap((block) => block[metric] ?? []));
    const [old = [], now = []] = values;
    const [from, to] = [before[metric], after[metric]];
    const change = changePct(from, to);
    const common = { metric, of: "ALL", before: from, after: to, change_pct: change };
    if (!isEnough || old.length === 0 || now.length === 0) {
      return { ...common, interval_pct: null, p_value: null, verdict: unsure(metric, change) };
    }
    const pValue = mannWhitneyP(old, now);
    const shift = changePct(medianOf(old), medianOf(now));
    const isSure = pValue < chance && !(metric === "qps" && isGiven);
    return {
      ...common,
      interval_pct: bootstrapChangePct(old, now, createPrng(`compare/${metric}`)),
      p_value: pValue,
      // Both the whole and its usual second: one stall is no slowdown, nor does it hide one.
      verdict: isSure ? gradeOf(metric, change, shift) : "same",
    };
  });
  return [...differences, errorDifference(before, after)];
}

/** Reported, and a warning at most: shares of a run are too small to say more. */
function byOperation(base: ComparedRun, run: ComparedRun): readonly MetricDifference[] {
  const names = Object.keys(base.operations).filter((name) => name in run.operations);
  if (names.length < 2) return [];
  return names.flatMap((of) => {
    const [old, now] = [base.operations[of]?.response, run.operations[of]?.response];
    if (old === undefined || now === undefined) return [];
    return (["p50", "p95"] as const).map((metric): MetricDifference => {
      const share = shareOf[metric];
      const [before, after] = [toMs(old.percentileUs(share)), toMs(now.percentileUs(share))];
      const change = changePct(before, after);
      const isMany = Math.min(old.count, now.count) >= 1_000;
      const isWorse = isMany && change !== null && change > 2 * matters[metric];
      return {
        metric,
        of,
        before,
        after,
        change_pct: change,
        interval_pct: null,
        p_value: null,
        verdict: isWorse ? "slightly worse" : "same",
      };
    });
  });
}

const shareOf = { p50: 0.5, p95: 0.95, p99: 0.99 } as const;

interface Summary {
  readonly seconds: number;
  readonly ops: number;
  readonly errors: number;
  readonly response: Histogram;
  readonly qps: number | null;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

type Part = Pick<Summary, "seconds" | "ops" | "errors" | "response">;

function totalOf(parts: readonly Part[]): Summary {
  const response = mergeHistograms(parts.map((part) => part.response));
  const sum = (field: "seconds" | "ops" | "errors"): number =>
    parts.reduce((total, part) => total + part[field], 0);
  const [seconds, ops] = [sum("seconds"), sum("ops")];
  return {
    seconds,
    ops,
    errors: sum("errors"),
    response,
    qps: seconds === 0 ? null : ops / seconds,
    p50: toMs(response.percentileUs(shareOf.p50)),
    p95: toMs(response.percentileUs(shareOf.p95)),
    p99: toMs(response.percentileUs(shareOf.p99)),
  };
}

/** Of equal length; seconds that are left over at the end belong to the last. */
function blocksOf(seconds: readonly ComparedSecond[]): readonly Summary[] {
  const length = Math.max(1, Math.ceil(seconds.length / blocksMax));
  const count = Math.floor(seconds.length / length);
  const parts = seconds.map((second): Part => ({ ...second, seconds: 1 }));
  return Array.from({ length: count }, (_, at) =>
    totalOf(parts.slice(at * length, at === count - 1 ? undefined : (at + 1) * length)),
  );
}

type Judged = "qps" | "p50" | "p95" | "p99";

/** Positive: worse. */
function worseBy(metric: Judged, change: number | null): number {
  return (metric === "qps" ? -1 : 1) * (change ?? 0);
}

function gradeOf(
  metric: Judged,
  change: number | null,
  shift: number | null,
): MetricDifference["verdict"] {
  const [whole, usual] = [worseBy(metric, change), worseBy(metric, shift)];
  const least = Math.min(whole, usual);
  if (least >= matters[metric]) return "worse";
  if (least >= matters[metric] * slightShare) return "slightly worse";
  return Math.max(whole, usual) <= -matters[metric] ? "better" : "same";
}

function unsure(metric: Judged, change: number | null): MetricDifference["verdict"] {
  return Math.abs(change ?? 0) >= 2 * matters[metric] ? "unsure" : "same";
}

/** Two shares of many: by their standard error. */
function errorDifference(before: Summary, after: Summary): MetricDifference {
  const share = ({ ops, errors }: Summary): number | null => (ops === 0 ? null : errors / ops);
  const [old, now] = [share(before), share(after)];
  const pooled = (before.errors + after.errors) / Math.max(1, before.ops + after.ops);
  const spread = Math.sqrt(
    pooled * (1 - pooled) * (1 / Math.max(1, before.ops) + 1 / Math.max(1, after.ops)),
  );
  const points = ((now ?? 0) - (old ?? 0)) * 100;
  const isSure = spread > 0 && Math.abs(points) / 100 > 4 * spread;
  const grade = points > 0 ? "worse" : "better";
  return {
    metric: "error_rate_pct",
    of: "ALL",
    before: old === null ? null : old * 100,
    after: now === null ? null : now * 100,
    change_pct: changePct(old, now),
    interval_pct: null,
    p_value: null,
    verdict: isSure && Math.abs(points) >= errorsMatter ? grade : "same",
  };
}

/** CP3 */
function judge(
  metrics: readonly MetricDifference[],
  doubts: readonly string[],
): { readonly verdict: ComparisonVerdict; readonly reasons: readonly string[] } {
  const graded = (...verdicts: readonly MetricDifference["verdict"][]): MetricDifference[] =>
    metrics.filter(({ verdict }) => verdicts.includes(verdict));
  const isMain = ({ metric, of }: MetricDifference): boolean => of === "ALL" && metric !== "p99";
  const worse = graded("worse");
  const regressed = worse.filter(isMain);
  const doubtful = [
    ...worse.filter((each) => !isMain(each)),
    ...graded("slightly worse", "unsure"),
  ];
  const better = graded("better");
  const told = [...regressed, ...doubtful, ...better].map(reasonOf);
  if (told.length === 0) {
    return { verdict: "NEUTRAL", reasons: ["no figure differs by more than noise", ...doubts] };
  }
  const reasons = [...told, ...doubts];
  if (doubts.length > 0) return { verdict: "WARNING", reasons };
  if (regressed.length > 0) return { verdict: "REGRESSION", reasons };
  return { verdict: doubtful.length > 0 ? "WARNING" : "IMPROVEMENT", reasons };
}

function doubtsOf(...runs: readonly ComparedRun[]): readonly string[] {
  return runs.flatMap((run) => [
    ...(run.generator_bound ? [`${run.test_name}: the generator was the bottleneck`] : []),
    ...(run.percentiles_valid ? [] : [`${run.test_name}: its percentiles are not valid`]),
  ]);
}

function workloadReason(
  configuration: readonly ConfigDifference[],
  verdict: ComparisonVerdict,
): readonly string[] {
  const paths = configuration
    .map(({ path }) => path)
    .filter((path) => path.startsWith("workload."));
  if (paths.length === 0 || verdict === "NEUTRAL") return [];
  const [first] = paths;
  const more = paths.length === 1 ? "" : ` and ${paths.length - 1} more`;
  return [`the workloads are not the same: ${first}${more}`];
}

function reasonOf(difference: MetricDifference): string {
  const { metric, of, before, after, change_pct: change, verdict, p_value: pValue } = difference;
  const name = { qps: "rate", error_rate_pct: "error rate" }[metric as string] ?? metric;
  const unit = metric === "qps" ? "/s" : metric === "error_rate_pct" ? " %" : " ms";
  const figures = `${shown(before)} → ${shown(after)}${unit}`;
  const percent = change === null ? "" : `, ${change > 0 ? "+" : ""}${change.toFixed(1)} %`;
  const sure = pValue === null ? "" : `, p ${pValue < 0.001 ? "< 0.001" : pValue.toFixed(3)}`;
  const many = verdict === "unsure" ? "; too few seconds to be sure" : "";
  return `${name} of ${of} is ${verdict === "unsure" ? "different" : verdict}: ${figures}${percent}${sure}${many}`;
}

function changePct(before: number | null, after: number | null): number | null {
  if (before === null || after === null || before === 0) return null;
  return (after / before - 1) * 100;
}

function shown(value: number | null): string {
  return value === null ? "nothing" : Number(value.toPrecision(4)).toString();
}
