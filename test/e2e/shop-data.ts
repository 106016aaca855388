/** A few series of every kind that PromQL treats differently, and queries that treat them so. */
import { testHistogram } from "../../src/kinds/ask/metrics/testing/sample-batches.ts";
import type { FloatHistogram } from "../../src/kinds/ask/promql/core/index.ts";
import { type DataSeries, dataSeries } from "./ask-data.ts";

const stepMs = 30_000;
const count = 361;

/** Three hours up to `endMs`. */
export function shopSeries(endMs: number): DataSeries[] {
  const times = { startMs: endMs - (count - 1) * stepMs, stepMs, count };
  const all: DataSeries[] = [];
  for (const [index, instance] of ["a", "b", "c", "d"].entries()) {
    for (const code of ["200", "404", "500"]) {
      const labels = { __name__: "shop_requests_total", job: "shop", instance, code };
      const lifetime = 90 + index * 37;
      const slope = Number(code) / 100;
      all.push(dataSeries(labels, times, (at) => (at % lifetime) * slope + 0.125 * index));
    }
    const zone = index % 2 === 0 ? "käse" : "brot";
    const labels = { __name__: "shop_temperature", job: "shop", instance, zone };
    all.push(
      dataSeries(labels, times, (at) => oddValues[at % 97] ?? Math.sin(at / 9 + index) * 20),
    );
    for (const [bucket, le] of ["0.1", "0.5", "2.5", "+Inf"].entries()) {
      const bounds = { __name__: "shop_latency_seconds_bucket", instance, le };
      all.push(dataSeries(bounds, times, (at) => at * (bucket + 1) * (index + 2)));
    }
  }
  // Ends in the middle of the time, so that lookback and absence matter.
  const brief = { ...times, count: 200 };
  all.push(dataSeries({ __name__: "shop_closed", job: "shop" }, brief, (at) => at));
  return all;
}

/** At these of each 97 samples. */
const oddValues: Readonly<Record<number, number>> = {
  13: Number.NaN,
  14: Number.POSITIVE_INFINITY,
  15: -1e300,
  16: 5e-324,
};

export interface HistogramPoint {
  readonly ts: number;
  readonly histogram: FloatHistogram;
}

/** Half an hour of native histograms up to `endMs`. */
export function shopHistograms(endMs: number): HistogramPoint[] {
  return Array.from({ length: 60 }, (_, index) => ({
    ts: endMs - (59 - index) * stepMs,
    histogram: testHistogram((index % 40) * 4),
  }));
}

export const shopQueries: readonly string[] = [
  "shop_requests_total",
  'shop_requests_total{code=~"4..|5..", instance!="a"}',
  'shop_temperature{zone="käse"}',
  "rate(shop_requests_total[5m])",
  "sum by (code) (rate(shop_requests_total[5m]))",
  "sum without (instance, code) (increase(shop_requests_total[7m30s]))",
  "avg by (instance) (rate(shop_requests_total[3m])) / avg(rate(shop_requests_total[3m])) > bool 1",
  "irate(shop_requests_total[2m])",
  "topk(3, shop_requests_total)",
  "bottomk by (code) (1, shop_requests_total)",
  "quantile by (zone) (0.7, shop_temperature < +Inf)",
  'count_values("reading", floor(shop_temperature / 10))',
  "stddev_over_time(shop_temperature[10m])",
  "max_over_time(shop_temperature[9m])",
  "sum by (zone) (avg_over_time(shop_temperature[4m]))",
  "histogram_quantile(0.9, sum by (le) (rate(shop_latency_seconds_bucket[5m])))",
  "histogram_quantile(0.5, rate(shop_latency_seconds_bucket[5m]))",
  'sum(shop_requests_total{code="500"}) / ignoring (code) sum(shop_requests_total)',
  'shop_requests_total{code="500"} / on (instance) group_left (zone) shop_temperature',
  "max_over_time(sum(rate(shop_requests_total[2m]))[20m:1m])",
  "rate(shop_requests_total[5m] offset 1h)",
  "shop_requests_total @ end() - shop_requests_total @ start()",
  "absent(shop_closed)",
  "absent_over_time(shop_closed[30m])",
  "shop_closed or shop_temperature",
  'label_replace(shop_requests_total, "where", "$1-x", "instance", "(.*)")',
  'shop_requests_total and on (instance) shop_temperature{zone="brot"}',
  "predict_linear(shop_requests_total[10m], 600)",
  "shop_sizes",
  "histogram_quantile(0.9, rate(shop_sizes[5m]))",
  "histogram_count(sum(increase(shop_sizes[10m])))",
  "scalar(sum(shop_requests_total)) + time()",
  "vector(time()) - timestamp(shop_closed)",
  '"a text"',
];

/** Not of range queries. */
export const instantOnly: ReadonlySet<string> = new Set(['"a text"']);
