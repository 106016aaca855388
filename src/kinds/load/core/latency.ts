/**
 * Latencies of successes, and of arrivals without an answer, for which only a lower bound is known
 * (they are censored). Rules: LT1.
 */
import { type Figures, toMs } from "./figures.ts";
import { mergeHistograms } from "./histogram.ts";

export const percentileShares = {
  p50_latency_ms: 0.5,
  p90_latency_ms: 0.9,
  p95_latency_ms: 0.95,
  p99_latency_ms: 0.99,
  p999_latency_ms: 0.999,
} as const;
type PercentileName = keyof typeof percentileShares;

export type LatencyName = PercentileName | `${"avg" | "min" | "max"}_latency_ms`;
export const latencyNames: readonly LatencyName[] = [
  ...(Object.keys(percentileShares) as PercentileName[]),
  "avg_latency_ms",
  "min_latency_ms",
  "max_latency_ms",
];

export type LatencySummary = Readonly<Record<LatencyName, number | null>>;

/** One value for each of the eight latency figures. */
export function latenciesBy<T>(of: (name: LatencyName) => T): Record<LatencyName, T> {
  return Object.fromEntries(latencyNames.map((name) => [name, of(name)])) as ReturnType<
    typeof latenciesBy<T>
  >;
}

/** Copies only the eight latency figures. */
export function latenciesOf(of: LatencySummary): LatencySummary {
  return latenciesBy((name) => of[name]);
}

export interface Latency extends LatencySummary {
  /** The figures that are lower bounds. */
  readonly at_least: readonly LatencyName[];
}

const tolerance = 1.01;

/** The figures of an operation, a kind or a whole run, for objectives and reports. */
export interface Measured {
  readonly ops: number;
  readonly errors: number;
  readonly unserved: number;
  readonly latency: Latency;
  /**
   * The upper bound of each figure, whatever the unserved arrivals would have taken. Null without a
   * bound.
   */
  readonly most: LatencySummary;
}

type Distributions = Pick<Figures, "response" | "censored">;

/** `recorded` are exact figures from single records, used instead of the histograms. */
export function measuredOf(
  {
    ops,
    errors,
    unserved,
    ...distributions
  }: Pick<Figures, "ops" | "errors" | "unserved"> & Distributions,
  recorded?: LatencySummary,
): Measured {
  const summary = recorded ?? summaryOf(distributions);
  const most = mostOf(distributions);
  const isWhole = distributions.censored.count === 0;
  const atLeast = (isWhole ? [] : Object.entries(summary)).flatMap(
    ([name, least]: [string, number | null]) => {
      const bound = most[name as LatencyName];
      const isKnown = least === null || (bound !== null && bound <= least * tolerance + 0.001);
      return isKnown ? [] : [name as LatencyName];
    },
  );
  return { ops, errors, unserved, latency: { ...summary, at_least: atLeast }, most };
}

/** Whether no percentile is a lower bound. */
export function arePercentilesValid({ at_least: names }: Latency): boolean {
  return !names.some((name) => name in percentileShares);
}

export function summaryOf({ response, censored }: Distributions): LatencySummary {
  const all = mergeHistograms([response, censored]);
  return {
    ...percentilesBy((share) => all.percentileUs(share)),
    avg_latency_ms: toMs(all.meanUs),
    min_latency_ms: toMs(response.minUs),
    max_latency_ms: toMs(all.maxUs),
  };
}

/** Counts unserved arrivals as infinitely long. */
function mostOf({ response, censored }: Distributions): LatencySummary {
  const count = response.count + censored.count;
  const whole = (value: number | undefined): number | null =>
    censored.count === 0 ? toMs(value) : null;
  return {
    ...percentilesBy((share) => response.atRank(Math.max(1, Math.ceil(share * count)))),
    avg_latency_ms: whole(response.meanUs),
    min_latency_ms: toMs(response.minUs),
    max_latency_ms: whole(response.maxUs),
  };
}

function percentilesBy(
  usAt: (share: number) => number | undefined,
): Record<PercentileName, number | null> {
  const found = Object.entries(percentileShares).map(([name, share]) => [name, toMs(usAt(share))]);
  return Object.fromEntries(found) as ReturnType<typeof percentilesBy>;
}
