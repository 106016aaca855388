/**
 * Whether a run is better or worse than another. Figures are those of the runs' final records. How
 * much of a difference is noise is judged by the runs' seconds: they resemble their neighbours, so
 * they are gathered into blocks; blocks are compared by rank, and a difference counts only if it
 * is both unlikely to be noise and large enough to matter. Rules: CP1 to CP9.
 */
import type { z } from "zod";
import { createPrng } from "../../../ground/kernel/prng.ts";
import type { comparisonSchema } from "./comparison-schema.ts";
import { type ConfigDifference, configDifferences } from "./config-differences.ts";
import type { FinalRecord } from "./final-record.ts";
import { type Histogram, mergeHistograms } from "./histogram.ts";
import { percentileShares } from "./latency.ts";
import type { Scenario } from "./scenario.ts";
import { writeScenario } from "./scenario-codec.ts";
import type { Immutable } from "./schema-parts.ts";
import { type BlockFigures, bootstrapChanges, mannWhitneyP, medianOf } from "./statistics.ts";

/** One second of MEASUREMENT. */
export interface ComparedSecond {
  /** The true length, in seconds. */
  readonly seconds: number;
  /** Operations that ended in this second. */
  readonly ops: number;
  readonly errors: number;
  /** Response times of successful operations. */
  readonly response: Histogram;
}

export interface ComparedRun {
  readonly run_id: string;
  readonly test_name: string;
  readonly scenario: Scenario;
  readonly record: FinalRecord;
  readonly seconds: readonly ComparedSecond[];
}

export type RunComparison = Immutable<z.output<typeof comparisonSchema>>;
export type MetricDifference = RunComparison["metrics"][number];
type ComparisonVerdict = RunComparison["verdict"];
type ShareMetric = Extract<MetricDifference["metric"], `${string}_pct`>;
type Judged = Exclude<MetricDifference["metric"], ShareMetric>;

/** Compares each run with the first one. */
export function compareRuns(
  base: ComparedRun,
  others: readonly ComparedRun[],
): readonly RunComparison[] {
  return others.map((run) => compareTwo(base, run));
}

/** Maximum number of blocks, so that each is long enough to be independent of its neighbours. */
const blocksMax = 30;
const blocksMin = 8;
/** The chance of a false verdict, divided among the compared figures. */
const errorChance = 0.01;
/** Smaller changes, in percent, are no verdict, however certain they are. */
const matters = { qps: 5, p50: 5, p95: 7, p99: 10 } as const;
const slightShare = 0.6;
/** The same for shares, in percentage points. */
const sharesMatter = { error_rate_pct: 0.1, unserved_pct: 0.1, availability_pct: 1 } as const;

function compareTwo(base: ComparedRun, run: ComparedRun): RunComparison {
  const found = [...overall(base, run), ...byOperation(base, run)];
  const isSame = base.run_id === run.run_id;
  // CP1
  const metrics = isSame ? found.map((each) => ({ ...each, verdict: "same" as const })) : found;
  const configuration = configDifferences(
    writeScenario(base.scenario),
    writeScenario(run.scenario),
  );
  const { verdict, reasons } = judge(metrics, doubtsOf(base, run));
  const likeness = workloadReason(configuration, verdict);
  const fewest = Math.min(base.seconds.length, run.seconds.length);
  const few =
    fewest >= blocksMin || isSame ? [] : [`too few seconds (${fewest}) to know how large noise is`];
  return {
    base_run_id: base.run_id,
    run_id: run.run_id,
    verdict,
    reasons: [...reasons, ...few, ...likeness],
    metrics,
    configuration,
  };
}

const judgedMetrics = ["qps", "p50", "p95", "p99"] as const;

function overall(base: ComparedRun, run: ComparedRun): readonly MetricDifference[] {
  const [left, right] = [blocksOf(base.seconds), blocksOf(run.seconds)];
  const isEnough = left.length >= blocksMin && right.length >= blocksMin; // CP4
  const changes = isEnough
    ? bootstrapChanges(left.map(blockFigures), right.map(blockFigures), createPrng("compare"))
    : undefined;
  const isGiven = run.scenario.workload.loadMode === "QPS"; // CP6
  const chance = errorChance / judgedMetrics.length;
  const differences = judgedMetrics.map((metric): MetricDifference => {
    const [from, to] = [figureOf(base.record, metric), figureOf(run.record, metric)];
    const change = changePct(from.value, to.value);
    const isLeast = [from.isLeast, to.isLeast] as const;
    const common = { metric, of: "ALL", before: from.value, after: to.value, is_least: isLeast };
    const known = { ...common, change_pct: change, interval_pct: null, p_value: null };
    if (metric === "qps" && isGiven) return { ...known, verdict: "same" };
    if (isMissing(common)) return { ...known, verdict: "unsure" };
    if (isLeast.includes(true)) return { ...known, verdict: leastGrade(metric, change, isLeast) };
    const [old, now] = [left, right].map((blocks) =>
      blocks.flatMap((block) => block[metric] ?? []),
    );
    if (changes === undefined || !old?.length || !now?.length || change === null) {
      return { ...known, verdict: unsure(metric, change) };
    }
    const pValue = mannWhitneyP(old, now);
    const shift = changePct(medianOf(old), medianOf(now));
    // Both the whole run and its typical second must change: one stall neither is nor hides a
    // slowdown.
    const grade = pValue < chance ? gradeOf(metric, change, shift) : "same";
    return {
      ...known,
      interval_pct: intervalAround(change, changes[metric]),
      p_value: pValue,
      verdict: grade === "same" ? unsure(metric, change) : grade,
    };
  });
  return [
    ...differences,
    shareDifference("error_rate_pct", errorShare(base), errorShare(run)),
    shareDifference("unserved_pct", unservedShare(base), unservedShare(run)),
    availabilityDifference(base.record, run.record),
  ];
}

function figureOf(
  record: FinalRecord,
  metric: Judged,
): { readonly value: number | null; readonly isLeast: boolean } {
  if (metric === "qps") return { value: record.qps, isLeast: false };
  const name = `${metric}_latency_ms` as const;
  return { value: record[name], isLeast: record.at_least.includes(name) };
}

/** CP8 */
function leastGrade(
  metric: Judged,
  change: number | null,
  [, isAfterLeast]: readonly [boolean, boolean],
): MetricDifference["verdict"] {
  const isWorse = worseBy(metric, change) >= matters[metric];
  return isAfterLeast && isWorse ? "worse" : "unsure";
}

/** Puts the spread of `changes` (factors of resampled runs) around the measured change (CP7). */
function intervalAround(change: number, changes: readonly number[]): readonly [number, number] {
  const sorted = changes.map(Math.log).sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.round(share * (sorted.length - 1))] ?? 0;
  const middle = at(0.5);
  const bound = (share: number): number =>
    (Math.exp(Math.log(1 + change / 100) + at(share) - middle) - 1) * 100;
  if (change <= -100) return [change, change];
  return [Math.min(change, bound(0.025)), Math.max(change, bound(0.975))];
}

/** Differences by operation are at most a warning: parts of a run have too little data for more. */
function byOperation(base: ComparedRun, run: ComparedRun): readonly MetricDifference[] {
  const others = new Map(run.record.operations.map((each) => [each.operation, each]));
  const pairs = base.record.operations.flatMap((old) => {
    const now = others.get(old.operation);
    return now === undefined ? [] : [{ old, now }];
  });
  if (pairs.length < 2) return [];
  return pairs.flatMap(({ old, now }) =>
    (["p50", "p95"] as const).map((metric): MetricDifference => {
      const name = `${metric}_latency_ms` as const;
      const [before, after] = [old[name], now[name]];
      const change = changePct(before, after);
      const isMany = Math.min(old.ops, now.ops) >= 1_000;
      const isWorse = isMany && change !== null && change > 2 * matters[metric];
      return {
        metric,
        of: old.operation,
        before,
        after,
        is_least: [old.at_least.includes(name), now.at_least.includes(name)],
        change_pct: change,
        interval_pct: null,
        p_value: null,
        verdict: isWorse ? "slightly worse" : "same",
      };
    }),
  );
}

interface Block {
  readonly seconds: number;
  readonly successes: number;
  readonly response: Histogram;
  readonly qps: number | null;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

/** Blocks of equal length; the seconds that remain belong to the last one. */
function blocksOf(seconds: readonly ComparedSecond[]): readonly Block[] {
  const length = Math.max(1, Math.ceil(seconds.length / blocksMax));
  const count = Math.floor(seconds.length / length);
  return Array.from({ length: count }, (_, at) =>
    blockOf(seconds.slice(at * length, at === count - 1 ? undefined : (at + 1) * length)),
  );
}

function blockOf(parts: readonly ComparedSecond[]): Block {
  const response = mergeHistograms(parts.map((part) => part.response));
  const sum = (field: "seconds" | "ops" | "errors"): number =>
    parts.reduce((total, part) => total + part[field], 0);
  const seconds = sum("seconds");
  const successes = sum("ops") - sum("errors");
  return {
    seconds,
    successes,
    response,
    qps: seconds > 0 ? successes / seconds : null,
    p50: response.percentileUs(percentileShares.p50_latency_ms) ?? null,
    p95: response.percentileUs(percentileShares.p95_latency_ms) ?? null,
    p99: response.percentileUs(percentileShares.p99_latency_ms) ?? null,
  };
}

function blockFigures({ seconds, successes, response }: Block): BlockFigures {
  return { seconds, successes, buckets: [...response.buckets()] };
}

/** How much worse the change is; negative means better. */
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

/** The verdict of a change that would matter if it were certain (CP4). */
function unsure(metric: Judged, change: number | null): MetricDifference["verdict"] {
  return Math.abs(change ?? 0) >= matters[metric] ? "unsure" : "same";
}

/** Whether a figure is missing: without successes there is no latency and no rate (CP9). */
function isMissing({
  metric,
  before,
  after,
}: Pick<MetricDifference, "metric" | "before" | "after">): boolean {
  if (metric in sharesMatter) return false;
  return before === null || after === null || (metric === "qps" && before === 0);
}

interface Share {
  readonly count: number;
  readonly of: number;
}

/** Null when unknown. */
function errorShare({ record }: ComparedRun): Share | null {
  return { count: record.failed_operations, of: record.total_operations };
}

function unservedShare({ record }: ComparedRun): Share | null {
  if (record.unserved === null) return null;
  return { count: record.unserved, of: record.total_operations + record.unserved };
}

/** Compares two shares by their standard error. */
function shareDifference(
  metric: "error_rate_pct" | "unserved_pct",
  before: Share | null,
  after: Share | null,
): MetricDifference {
  const share = (each: Share | null): number | null =>
    each === null || each.of === 0 ? null : each.count / each.of;
  const [old, now] = [share(before), share(after)];
  const [many, more] = [Math.max(1, before?.of ?? 1), Math.max(1, after?.of ?? 1)];
  const pooled = ((before?.count ?? 0) + (after?.count ?? 0)) / (many + more);
  const spread = Math.sqrt(pooled * (1 - pooled) * (1 / many + 1 / more));
  const points = old === null || now === null ? 0 : (now - old) * 100;
  const isSure = Math.abs(points) / 100 > 4 * spread && points !== 0;
  return shareOf(metric, old, now, isSure && Math.abs(points) >= sharesMatter[metric] ? points : 0);
}

function availabilityDifference(before: FinalRecord, after: FinalRecord): MetricDifference {
  const [old, now] = [before.availability_pct, after.availability_pct];
  const points = old === null || now === null ? 0 : old - now;
  const isLarge = Math.abs(points) >= sharesMatter.availability_pct;
  const [from, to] = [old === null ? null : old / 100, now === null ? null : now / 100];
  return shareOf("availability_pct", from, to, isLarge ? points : 0);
}

/** `worseBy` is in percentage points; 0 when the change does not matter. */
function shareOf(
  metric: ShareMetric,
  before: number | null,
  after: number | null,
  worseBy: number,
): MetricDifference {
  return {
    metric,
    of: "ALL",
    before: before === null ? null : before * 100,
    after: after === null ? null : after * 100,
    is_least: [false, false],
    change_pct: changePct(before, after),
    interval_pct: null,
    p_value: null,
    verdict: worseBy === 0 ? "same" : worseBy > 0 ? "worse" : "better",
  };
}

/** CP3, CP4 */
function judge(
  metrics: readonly MetricDifference[],
  doubts: readonly string[],
): { readonly verdict: ComparisonVerdict; readonly reasons: readonly string[] } {
  const graded = (...verdicts: readonly MetricDifference["verdict"][]): MetricDifference[] =>
    metrics.filter(({ verdict }) => verdicts.includes(verdict));
  const isMain = ({ metric, of }: MetricDifference): boolean => of === "ALL" && metric !== "p99";
  const worse = graded("worse");
  const regressed = worse.filter(isMain);
  const slight = [...worse.filter((each) => !isMain(each)), ...graded("slightly worse")];
  const better = graded("better");
  const open = graded("unsure");
  const told = [...regressed, ...slight, ...better, ...open].map(reasonOf);
  if (told.length === 0) {
    return { verdict: "NEUTRAL", reasons: ["no figure differs by more than noise", ...doubts] };
  }
  const reasons = [...told, ...doubts];
  // A slow generator distorts latencies and rates, but causes no failures.
  const isCertain = regressed.some(({ metric }) => metric in sharesMatter);
  if (regressed.length > 0 && (doubts.length === 0 || isCertain)) {
    return { verdict: "REGRESSION", reasons };
  }
  if (open.some(isMissing)) return { verdict: "INCONCLUSIVE", reasons }; // CP9
  if (doubts.length > 0) return { verdict: "WARNING", reasons };
  const isWorsening = ({
    metric,
    change_pct: change,
    is_least: least,
  }: MetricDifference): boolean => least.includes(true) || worseBy(metric as Judged, change) > 0;
  const undecided = open.filter(isMain).filter((each) => better.length === 0 || isWorsening(each));
  if (undecided.length > 0) return { verdict: "INCONCLUSIVE", reasons };
  if (slight.length > 0) return { verdict: "WARNING", reasons };
  return { verdict: better.length > 0 ? "IMPROVEMENT" : "NEUTRAL", reasons };
}

function doubtsOf(...runs: readonly ComparedRun[]): readonly string[] {
  return runs.flatMap(({ record, test_name: name }) => [
    ...(record.generator_bound
      ? [`${name}: the load generator was saturated, or did not run all the time`]
      : []),
    ...(record.unserved === null && record.failed_operations > 0
      ? [`${name}: measured by an earlier version, its latencies include failed operations`]
      : []),
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
  const names: Partial<Record<MetricDifference["metric"], string>> = {
    qps: "rate",
    error_rate_pct: "error rate",
    unserved_pct: "unserved arrivals",
    availability_pct: "availability",
  };
  const isShare = metric in sharesMatter;
  const unit = metric === "qps" ? "/s" : isShare ? " %" : " ms";
  const [isOldLeast, isNowLeast] = difference.is_least;
  const figures = `${isOldLeast ? "≥ " : ""}${shown(before)} → ${isNowLeast ? "≥ " : ""}${shown(after)}${unit}`;
  const percent = change === null || isShare ? "" : `, ${signed(change)} %`;
  const sure = pValue === null ? "" : `, p ${pValue < 0.001 ? "< 0.001" : pValue.toFixed(3)}`;
  const interval = difference.interval_pct;
  const noise =
    verdict !== "unsure"
      ? ""
      : interval === null
        ? "; it cannot be told from noise"
        : `; with noise ${signed(interval[0])} to ${signed(interval[1])} %`;
  const are = metric === "unserved_pct" ? "are" : "is";
  if (verdict === "unsure" && isMissing(difference)) {
    return `${names[metric] ?? metric} of ${of} cannot be compared, because nothing succeeded in one of the runs: ${figures}`;
  }
  return `${names[metric] ?? metric} of ${of} ${are} ${verdict === "unsure" ? "different" : verdict}: ${figures}${percent}${sure}${noise}`;
}

function signed(percent: number): string {
  return `${percent > 0 ? "+" : ""}${percent.toFixed(1)}`;
}

function changePct(before: number | null, after: number | null): number | null {
  if (before === null || after === null || before === 0) return null;
  return (after / before - 1) * 100;
}

function shown(value: number | null): string {
  return value === null ? "nothing" : Number(value.toPrecision(4)).toString();
}
