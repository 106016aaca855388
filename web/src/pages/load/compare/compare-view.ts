/** The texts of a comparison. Pure. */
import type { MetricDifference } from "../../../api/gen/types.ts";
import { formatLatency, formatRate, formatShare, unknown } from "../../../format.ts";

/** Without duplicates; the first id is the base. */
export function idsOf(search: URLSearchParams): readonly string[] {
  const ids = (search.get("ids") ?? "").split(",").map((id) => id.trim());
  return [...new Set(ids.filter((id) => id !== ""))].slice(0, 10);
}

/** A, B, C…: short enough for charts, and unique even when names are not. */
export function letterOf(index: number): string {
  return String.fromCharCode(65 + index);
}

export function withBase(ids: readonly string[], base: string): string {
  const others = ids.filter((id) => id !== base);
  return `/load/compare?ids=${[base, ...others].map(encodeURIComponent).join(",")}`;
}

export function metricName({ metric, of }: Pick<MetricDifference, "metric" | "of">): string {
  const names: Readonly<Record<string, string>> = {
    qps: "Operations/s",
    error_rate_pct: "Errors",
    unserved_pct: "Unserved",
    availability_pct: "Availability",
  };
  const name = names[metric] ?? metric;
  return of === "ALL" ? name : `${name} of ${of}`;
}

/** `isLeast` marks a lower bound. */
export function metricValue(
  metric: MetricDifference["metric"],
  value: number | null,
  isLeast = false,
): string {
  if (metric === "qps") return formatRate(value);
  return isShare(metric) ? formatShare(value) : `${isLeast ? "≥ " : ""}${formatLatency(value)}`;
}

function isShare(metric: MetricDifference["metric"]): boolean {
  return metric.endsWith("_pct");
}

/** Shares are compared by their difference, because a ratio to zero does not exist. */
export function differenceText(difference: MetricDifference): string {
  const { metric, before, after, change_pct: percent } = difference;
  if (!isShare(metric)) return changeText(percent);
  if (before === null || after === null) return unknown;
  const points = after - before;
  const sign = points === 0 ? "" : points > 0 ? "+" : "−";
  return `${sign}${formatShare(Math.abs(points)).replace("%", "points")}`;
}

export function changeText(percent: number | null): string {
  if (percent === null) return unknown;
  const shown = Math.abs(percent) < 0.05 ? "0" : Math.abs(percent).toFixed(1);
  const sign = shown === "0" ? "" : percent > 0 ? "+" : "−";
  return `${sign}${shown} %`;
}

export function intervalText(interval: MetricDifference["interval_pct"]): string {
  return interval === null ? unknown : `${changeText(interval[0])} to ${changeText(interval[1])}`;
}

export function chanceText(pValue: number | null): string {
  if (pValue === null) return unknown;
  return pValue < 0.001 ? "< 0.001" : pValue.toFixed(3);
}
