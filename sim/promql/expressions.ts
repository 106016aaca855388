/**
 * Expressions over the metrics of `data-set.ts`, drawn from a seed: a little of everything that is
 * cut, merged and joined.
 */
import type { Prng } from "../../src/ground/kernel/prng.ts";

interface Template {
  readonly text: (prng: Prng) => string;
  /** A range vector is no answer of a range query, and an order is none of a range. */
  readonly instantOnly?: true;
}

function oneOf<T>(prng: Prng, items: readonly [T, ...T[]]): T {
  return items[prng.below(items.length)] ?? items[0];
}

const range = (prng: Prng): string => oneOf(prng, ["[1m]", "[2m]", "[3m30s]", "[10m]"]);
const grouping = (prng: Prng): string =>
  oneOf(prng, ["", "by (job)", "by (job, instance)", "without (code)"]);
const offset = (prng: Prng): string => oneOf(prng, ["offset 2m", "offset 7m30s", "offset -1m"]);

const templates: readonly [Template, ...Template[]] = [
  // Sums, averages and extremes, aggregated where the data is.
  { text: (prng) => `sum ${grouping(prng)} (rate(requests_total${range(prng)}))` },
  { text: (prng) => `avg ${grouping(prng)} (increase(requests_total{code="500"}${range(prng)}))` },
  { text: (prng) => `max ${grouping(prng)} (memory_bytes)` },
  { text: () => `count by (__name__) ({job="api"})` },
  // Windows of one series.
  { text: (prng) => `avg_over_time(memory_bytes${range(prng)})` },
  {
    text: (prng) =>
      `resets(requests_total{job="api"}[20m]) + changes(requests_total${range(prng)})`,
  },
  { text: () => `quantile_over_time(0.7, temperature[4m])` },
  { text: (prng) => `present_over_time(up_since${range(prng)})` },
  { text: () => "up_since" },
  // The best of all shards, and what needs all values in one place.
  { text: (prng) => `topk(${1 + prng.below(4)}, memory_bytes)` },
  { text: () => `bottomk by (job) (2, rate(requests_total[2m]))` },
  { text: () => "quantile(0.6, temperature) - stddev(temperature)" },
  { text: () => "sort_desc(memory_bytes)", instantOnly: true },
  // Two leaves.
  {
    text: (prng) => {
      const window = range(prng);
      const errors = `sum by (job) (rate(requests_total{code="500"}${window}))`;
      return `${errors} / sum by (job) (rate(requests_total${window}))`;
    },
  },
  { text: () => "rate(requests_total[2m]) * on (job, instance) group_left () memory_bytes" },
  { text: () => "memory_bytes > 4000 and on (instance) up_since" },
  { text: () => `up_since or memory_bytes{job="db"} unless temperature` },
  // Subqueries.
  { text: () => "max_over_time(sum by (job) (memory_bytes)[4m:45s])" },
  { text: () => "avg_over_time(rate(requests_total[1m])[3m:30s])" },
  // Histograms of both kinds, and what has annotations.
  {
    text: (prng) =>
      `histogram_quantile(0.9, sum by (le, job) (rate(latency_seconds_bucket${range(prng)})))`,
  },
  { text: (prng) => `histogram_quantile(0.5, sum by (job) (rate(size_bytes${range(prng)})))` },
  { text: () => "sum(size_bytes)" },
  { text: () => "histogram_count(increase(size_bytes[5m])) / histogram_sum(size_bytes)" },
  { text: () => `sum({__name__=~"size_bytes|memory_bytes"})` },
  { text: () => "rate(memory_bytes[2m])" },
  // Other times.
  { text: (prng) => `sum(rate(requests_total[2m] ${offset(prng)}))` },
  { text: (prng) => `memory_bytes - memory_bytes ${offset(prng)}` },
  { text: () => "temperature - temperature @ start()" },
  { text: () => "sum by (code) (increase(requests_total[5m] @ end()))" },
  // The samples themselves.
  { text: () => `requests_total{job="api"}[3m]`, instantOnly: true },
  { text: () => `{__name__=~"size_bytes|up_since"}[2m]`, instantOnly: true },
  // Nothing there, and nothing to read.
  { text: () => `absent(memory_bytes{job="web"}) or absent(up_since)` },
  { text: () => "vector(time() % 60)" },
];

export interface DrawnExpression {
  readonly text: string;
  readonly instantOnly: boolean;
}

export function drawExpression(prng: Prng): DrawnExpression {
  const { text, instantOnly = false } = oneOf(prng, templates);
  return { text: text(prng), instantOnly };
}
