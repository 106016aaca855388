/**
 * What both systems are asked. The aggregations over many series are those with the goal of five
 * times the speed.
 */

export interface BenchQuery {
  readonly name: string;
  readonly query: string;
  /** Absent for an instant query. */
  readonly range?: { readonly lengthMs: number; readonly stepMs: number };
  /** The minimum speedup over Prometheus when warm. */
  readonly speedupMin: number;
  /** The maximum milliseconds of a light query when warm. */
  readonly msMax?: number;
}

const hourMs = 3_600_000;
/** A little less than the data, so that the range can move within it. */
const day = { lengthMs: 23 * hourMs, stepMs: 60_000 };

export const benchQueries: readonly BenchQuery[] = [
  { name: "instant_all_series", query: '{__name__=~".+"}', speedupMin: 1 },
  { name: "raw_selector_24h", query: "node_memory_bytes", range: day, speedupMin: 1 },
  {
    name: "sum_by_rate_24h",
    query: "sum by (job) (rate(http_requests_total[5m]))",
    range: day,
    speedupMin: 5,
  },
  {
    name: "avg_by_avg_over_time_24h",
    query: "avg by (job) (avg_over_time(node_memory_bytes[10m]))",
    range: day,
    speedupMin: 5,
  },
  {
    name: "max_max_over_time_24h",
    query: "max by (job) (max_over_time(node_memory_bytes[30m]))",
    range: day,
    speedupMin: 5,
  },
  {
    name: "count_over_time_24h",
    query: "sum(count_over_time(http_requests_total[10m]))",
    range: day,
    speedupMin: 5,
  },
  {
    name: "quantile_over_time_24h",
    query: "max by (job) (quantile_over_time(0.9, node_memory_bytes[10m]))",
    range: day,
    speedupMin: 5,
  },
  {
    name: "topk_24h",
    query: "topk(5, rate(http_requests_total[5m]))",
    range: day,
    speedupMin: 1,
  },
  {
    name: "histogram_quantile_24h",
    query: "histogram_quantile(0.95, sum by (le, job) (rate(request_duration_seconds_bucket[5m])))",
    range: day,
    speedupMin: 5,
  },
  {
    name: "regex_selector_24h",
    query: 'sum by (path) (rate(http_requests_total{path=~"/api/.+|/v[12]/.*",code!~"2.."}[5m]))',
    range: day,
    speedupMin: 5,
  },
  {
    name: "subquery_24h",
    query: 'max_over_time(sum(rate(http_requests_total{job="job-1"}[5m]))[1h:1m])',
    range: { lengthMs: 22 * hourMs, stepMs: 300_000 },
    speedupMin: 1,
  },
  {
    name: "ratio_of_sums_24h",
    query:
      'sum by (job) (rate(http_requests_total{code="500"}[5m])) / sum by (job) (rate(http_requests_total[5m]))',
    range: day,
    speedupMin: 5,
  },
  {
    name: "rate_of_200_series_6h",
    query: 'rate(http_requests_total{job="job-2"}[5m])',
    range: { lengthMs: 6 * hourMs, stepMs: 60_000 },
    speedupMin: 1,
  },
  {
    name: "light_1h",
    query: 'rate(http_requests_total{job="job-3",instance="host-0"}[5m])',
    range: { lengthMs: hourMs, stepMs: 15_000 },
    speedupMin: 1,
    msMax: 6,
  },
];

/**
 * Ends by `endMs`, an even number of steps before it for each repetition, so that no two are the
 * same question.
 */
export function requestPath(query: BenchQuery, endMs: number, repetition: number): string {
  if (query.range === undefined) {
    const time = Math.floor(endMs / 60_000) * 60 - repetition * 60;
    return `/api/v1/query?${new URLSearchParams({ query: query.query, time: String(time) })}`;
  }
  const { lengthMs, stepMs } = query.range;
  const stepSeconds = stepMs / 1000;
  const end = Math.floor(endMs / stepMs) * stepSeconds - repetition * stepSeconds;
  const parameters = {
    query: query.query,
    start: String(end - lengthMs / 1000),
    end: String(end),
    step: String(stepSeconds),
  };
  return `/api/v1/query_range?${new URLSearchParams(parameters)}`;
}
