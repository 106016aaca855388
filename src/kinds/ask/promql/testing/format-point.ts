/** Formats labels and points like test scripts, for failure messages. */
import {
  customBucketsSchema,
  type FloatHistogram,
  type Labels,
  metricNameLabel,
} from "../core/index.ts";
import { filledBuckets } from "./same-histogram.ts";

export function formatLabels(labels: Labels): string {
  const pairs = [...labels.entries()]
    .filter(([name]) => name !== metricNameLabel)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return pairs.length === 0 && labels.name !== ""
    ? labels.name
    : `${labels.name}{${pairs.join(", ")}}`;
}

export function formatPoint({ value }: { readonly value: number | FloatHistogram }): string {
  return typeof value === "number" ? String(value) : formatHistogram(value, true);
}

export function formatHistogram(histogram: FloatHistogram, withHint: boolean): string {
  const parts = [
    `schema:${histogram.schema}`,
    `count:${histogram.count}`,
    `sum:${histogram.sum}`,
    ...(histogram.zeroCount === 0 ? [] : [`z_bucket:${histogram.zeroCount}`]),
    ...(histogram.zeroThreshold === 0 ? [] : [`z_bucket_w:${histogram.zeroThreshold}`]),
    ...(histogram.schema === customBucketsSchema
      ? [`custom_values:[${histogram.customValues.join(" ")}]`]
      : []),
    ...side("", filledBuckets(histogram.positiveSpans, histogram.positiveBuckets)),
    ...side("n_", filledBuckets(histogram.negativeSpans, histogram.negativeBuckets)),
    ...(withHint ? [`counter_reset_hint:${histogram.counterResetHint}`] : []),
  ];
  return `{{${parts.join(" ")}}}`;
}

function side(prefix: string, filled: readonly (readonly [number, number])[]): string[] {
  const first = filled[0]?.[0];
  const last = filled.at(-1)?.[0];
  if (first === undefined || last === undefined) return [];
  const counts = new Map(filled);
  const buckets = Array.from({ length: last - first + 1 }, (_, at) => counts.get(first + at) ?? 0);
  return [
    ...(first === 0 ? [] : [`${prefix}offset:${first}`]),
    `${prefix}buckets:[${buckets.join(" ")}]`,
  ];
}
