/**
 * The family that a metric belongs to, by the family's type: `x_bucket` is part of a histogram `x`.
 */
import type { MetricMetadata } from "../model.ts";

const suffixes: Readonly<Partial<Record<MetricMetadata["type"], readonly string[]>>> = {
  histogram: ["_bucket", "_sum", "_count"],
  gaugehistogram: ["_bucket", "_gsum", "_gcount"],
  summary: ["_sum", "_count"],
};

export function familyOf(metric: string, type: MetricMetadata["type"]): string {
  const suffix = suffixes[type]?.find((candidate) => metric.endsWith(candidate));
  return suffix === undefined ? metric : metric.slice(0, -suffix.length);
}
