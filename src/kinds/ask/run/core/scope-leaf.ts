/**
 * What a leaf has to read: the segments that may have samples for it, by time and metric, and
 * whether the head may. The estimated number of samples decides only how the work is cut, never the
 * result.
 */
import type { HeadSnapshot, SegmentInfo } from "../../metrics/core/index.ts";
import {
  type BaseExpr,
  compileMatchers,
  Labels,
  leafTimeRange,
  type Matcher,
  matcherSetKey,
  metricNameLabel,
} from "../../promql/core/index.ts";

/** Samples after `minMs` up to and including `maxMs`. */
export interface TimeRange {
  readonly minMs: number;
  readonly maxMs: number;
}

export interface LeafScope {
  readonly leaf: BaseExpr;
  readonly range: TimeRange;
  readonly segments: readonly SegmentInfo[];
  readonly fromHead: boolean;
  readonly samplesEstimate: number;
}

/** The assumed share of one metric in a segment or head whose metrics are not known. */
const shareOfUnlisted = 0.1;

export function scopeLeaf(
  leaf: BaseExpr,
  segments: readonly SegmentInfo[],
  head: HeadSnapshot | undefined,
  densities: SampleDensities,
): LeafScope {
  const range = leafTimeRange(leaf);
  const read = segmentsFor([leaf.matchers], range, segments);
  const fromHead = headReaches(head, range);
  const known = densities.estimate(leaf.matchers, range);
  const samplesEstimate =
    read.length === 0 && !fromHead ? 0 : (known ?? guess(leaf.matchers, range, read, head));
  return { leaf, range, segments: read, fromHead, samplesEstimate };
}

/** The segments that may have series for at least one set. Without sets, all of them. */
export function segmentsFor(
  matcherSets: readonly (readonly Matcher[])[],
  range: TimeRange,
  segments: readonly SegmentInfo[],
): readonly SegmentInfo[] {
  const inTime = segments.filter(({ minTs, maxTs }) => maxTs > range.minMs && minTs <= range.maxMs);
  const tests = matcherSets.map((matchers) => nameTest(matchers));
  if (matcherSets.length === 0 || tests.includes(undefined)) return inTime;
  const verdicts = new Map<string, boolean>();
  const mayMatch = (name: string): boolean => {
    let verdict = verdicts.get(name);
    if (verdict === undefined) {
      verdict = tests.some((matches) => matches?.(name) === true);
      verdicts.set(name, verdict);
    }
    return verdict;
  };
  return inTime.filter(
    ({ metricNames }) => metricNames === undefined || metricNames.some(mayMatch),
  );
}

export function headReaches(head: HeadSnapshot | undefined, range: TimeRange): boolean {
  if (head === undefined || head.sampleCount === 0) return false;
  return head.maxTs > range.minMs && head.minTs <= range.maxMs;
}

/** Returns undefined when the matchers do not restrict the metric's name. */
function nameTest(matchers: readonly Matcher[]): ((name: string) => boolean) | undefined {
  const ofName = matchers.filter(({ name }) => name === metricNameLabel);
  if (ofName.length === 0) return undefined;
  const matches = compileMatchers(ofName);
  return (name) => matches(name === "" ? Labels.empty : new Labels([metricNameLabel, name]));
}

function guess(
  matchers: readonly Matcher[],
  range: TimeRange,
  segments: readonly SegmentInfo[],
  head: HeadSnapshot | undefined,
): number {
  const isNamed = matchers.some(({ name, op }) => name === metricNameLabel && op === "=");
  const shareOf = (names: readonly string[] | undefined): number => {
    if (!isNamed) return 1;
    return names === undefined ? shareOfUnlisted : 1 / Math.max(1, names.length);
  };
  let samples = 0;
  for (const { minTs, maxTs, sampleCount, metricNames } of segments) {
    samples += sampleCount * overlapOf(minTs, maxTs, range) * shareOf(metricNames);
  }
  if (head !== undefined && headReaches(head, range)) {
    samples += head.sampleCount * overlapOf(head.minTs, head.maxTs, range) * shareOf(undefined);
  }
  return Math.round(samples);
}

function overlapOf(minTs: number, maxTs: number, { minMs, maxMs }: TimeRange): number {
  const shared = Math.min(maxTs, maxMs) - Math.max(minTs, minMs);
  return Math.min(1, Math.max(0, shared + 1) / (maxTs - minTs + 1));
}

/** The cost of a series besides its samples: finding, cutting and writing it. */
const samplesWorthOfSeries = 50;

/**
 * The last seen number of series, and samples per millisecond, of each selector. Bounded: the least
 * recently learnt is dropped.
 */
export class SampleDensities {
  readonly #known = new Map<string, { readonly perMs: number; readonly seriesCount: number }>();
  readonly #selectorsMax: number;

  constructor(selectorsMax = 1_000) {
    this.#selectorsMax = selectorsMax;
  }

  learn(
    matchers: readonly Matcher[],
    { minMs, maxMs }: TimeRange,
    { sampleCount, seriesCount }: { readonly sampleCount: number; readonly seriesCount: number },
  ): void {
    const key = matcherSetKey(matchers);
    this.#known.delete(key);
    this.#known.set(key, { perMs: sampleCount / Math.max(1, maxMs - minMs), seriesCount });
    if (this.#known.size <= this.#selectorsMax) return;
    for (const oldest of this.#known.keys()) {
      this.#known.delete(oldest);
      return;
    }
  }

  /** The estimate in samples; undefined for a selector that was never seen. */
  estimate(matchers: readonly Matcher[], { minMs, maxMs }: TimeRange): number | undefined {
    const known = this.#known.get(matcherSetKey(matchers));
    if (known === undefined) return undefined;
    return Math.round(known.perMs * (maxMs - minMs)) + known.seriesCount * samplesWorthOfSeries;
  }
}
