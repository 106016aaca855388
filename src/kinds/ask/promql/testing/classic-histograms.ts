/**
 * Converts a load's classic histograms (`x_bucket`, `x_count`, `x_sum`) to native ones with custom
 * buckets, named `x`, for `load_with_nhcb`.
 */
import {
  customBucketsSchema,
  type FloatHistogram,
  Labels,
  metricNameLabel,
} from "../core/index.ts";
import type { ScriptSeries } from "./script.ts";
import { parseScriptNumber } from "./script-text.ts";

interface ClassicHistogram {
  /** Cumulative counts by upper bound. */
  readonly buckets: Map<number, number>;
  count: number | undefined;
  sum: number;
}

/** Points are indexed by the load's steps. */
export function customBucketSeries(series: readonly ScriptSeries[]): ScriptSeries[] {
  const byLabels = new Map<string, { labels: Labels; points: Map<number, ClassicHistogram> }>();
  for (const { labels, values } of series) {
    const found = /^(.*)_(bucket|count|sum)$/s.exec(labels.name);
    if (found === null) continue;
    const [, name, suffix] = found as unknown as [string, string, "bucket" | "count" | "sum"];
    const bound = suffix === "bucket" ? parseScriptNumber(labels.get("le")) : 0;
    if (bound === undefined || Number.isNaN(bound)) continue;
    const base = Labels.fromPairs([
      ...[...labels.entries()].filter(([key]) => key !== "le"),
      [metricNameLabel, name],
    ]);
    const entry = byLabels.get(base.key) ?? { labels: base, points: new Map() };
    byLabels.set(base.key, entry);
    for (const [index, value] of values.entries()) {
      if (value.kind !== "float") continue;
      const point = entry.points.get(index) ?? { buckets: new Map(), count: undefined, sum: 0 };
      entry.points.set(index, point);
      if (suffix === "bucket") point.buckets.set(bound, value.value);
      else point[suffix] = value.value;
    }
  }
  return [...byLabels.values()].map(({ labels, points }) => {
    const length = Math.max(...points.keys(), -1) + 1;
    const values = Array.from({ length }, (_, index) => {
      const point = points.get(index);
      return point === undefined
        ? { kind: "absent" as const }
        : { kind: "histogram" as const, histogram: toHistogram(point, labels), hintSet: false };
    });
    return { labels, values, startOffsetsMs: undefined };
  });
}

function toHistogram({ buckets, count, sum }: ClassicHistogram, labels: Labels): FloatHistogram {
  const bounds = [...buckets.keys()].sort((a, b) => a - b);
  const total =
    count ?? (bounds.length === 0 ? 0 : (buckets.get(bounds.at(-1) as number) as number));
  if (bounds.at(-1) !== Number.POSITIVE_INFINITY) bounds.push(Number.POSITIVE_INFINITY);
  const counts: number[] = [];
  let before = 0;
  for (const bound of bounds) {
    const cumulative = buckets.get(bound) ?? total;
    if (cumulative < before) throw new Error(`${labels.key}: the counts are not cumulative`);
    counts.push(cumulative - before);
    before = cumulative;
  }
  if (before !== total) throw new Error(`${labels.key}: the count is not that of the last bucket`);
  return {
    counterResetHint: "unknown",
    schema: customBucketsSchema,
    zeroThreshold: 0,
    zeroCount: 0,
    count: total,
    sum,
    positiveSpans: [{ offset: 0, length: counts.length }],
    positiveBuckets: counts,
    negativeSpans: [],
    negativeBuckets: [],
    customValues: bounds.slice(0, -1),
  };
}
