/**
 * The samples that both systems are asked about: a day of counters, gauges and a classic histogram,
 * one sample of each series every 30 s, as an OpenMetrics file. The same seed gives the same
 * values. Every sample is 7.013 s past a multiple of 30 s and every query at full seconds, so that
 * no sample lies on the edge of a window: Prometheus before 3.0 counted both edges in.
 */
import { createWriteStream } from "node:fs";
import { finished } from "node:stream/promises";
import { createPrng, type Prng } from "../../src/ground/kernel/prng.ts";

export const intervalMs = 30_000;
export const daySamples = 2_880;
const offEdgeMs = 7_013;

export interface DataSet {
  readonly file: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly seriesCount: number;
  readonly sampleCount: number;
}

/** Of 3,500 series: 2,000 counters, 500 gauges, 1,000 buckets. */
const counterShare = 20 / 35;
const gaugeShare = 5 / 35;
const bucketBounds = ["0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "+Inf"];
const paths = ["/", "/api/items", "/api/users", "/v1/sum", "/v2/sum"];
const codes = ["200", "500"];

/**
 * `endMs` is the latest time of a sample; the data end two full hours before it, so that nothing is
 * in the future.
 */
export async function writeDataSet(
  file: string,
  sampleCount: number,
  endMs: number,
): Promise<DataSet> {
  const seriesCount = Math.max(35, Math.round(sampleCount / daySamples));
  const startMs = Math.floor(endMs / 7_200_000) * 7_200_000 - 86_400_000 + offEdgeMs;
  const prng = createPrng("bench promql");
  const out = createWriteStream(file, { highWaterMark: 4 * 1024 ** 2 });
  const write = async (text: string): Promise<void> => {
    if (!out.write(text)) await new Promise<void>((resolve) => out.once("drain", resolve));
  };
  // Seconds with milliseconds, as OpenMetrics has them; the same for every series.
  const times = Array.from({ length: daySamples }, (_, index) =>
    ((startMs + index * intervalMs) / 1000).toFixed(3),
  );
  for (const { labels, values } of allSeries(seriesCount, prng)) {
    let lines = "";
    for (let index = 0; index < daySamples; index += 1) {
      lines += `${labels} ${values[index]} ${times[index]}\n`;
    }
    await write(lines);
  }
  await write("# EOF\n");
  out.end();
  await finished(out);
  return {
    file,
    startMs,
    endMs: startMs + (daySamples - 1) * intervalMs,
    seriesCount,
    sampleCount: seriesCount * daySamples,
  };
}

/** `labels` is the text as it is in a line. */
function* allSeries(
  seriesCount: number,
  prng: Prng,
): Generator<{ labels: string; values: Float64Array }> {
  const counters = Math.round(seriesCount * counterShare);
  const gauges = Math.round(seriesCount * gaugeShare);
  const histograms = Math.floor((seriesCount - counters - gauges) / bucketBounds.length);
  for (let index = 0; index < counters; index += 1) {
    const code = codes[index % 2];
    const path = paths[Math.floor(index / 2) % 5];
    const job = Math.floor(index / 10) % 10;
    const labels = `job="job-${job}",instance="host-${Math.floor(index / 100)}",path="${path}",code="${code}"`;
    yield { labels: `http_requests_total{${labels}}`, values: counter(prng, 40) };
  }
  for (let index = 0; index < gauges; index += 1) {
    const labels = `job="job-${index % 10}",instance="host-${Math.floor(index / 10)}"`;
    yield { labels: `node_memory_bytes{${labels}}`, values: gauge(prng) };
  }
  for (let index = 0; index < histograms; index += 1) {
    const labels = `job="job-${index % 10}",instance="host-${Math.floor(index / 10)}"`;
    const cumulative = new Float64Array(daySamples);
    for (const bound of bucketBounds) {
      const values = counter(prng, 5, false);
      for (let at = 0; at < daySamples; at += 1) {
        cumulative[at] = (cumulative[at] as number) + (values[at] as number);
      }
      yield {
        labels: `request_duration_seconds_bucket{${labels},le="${bound}"}`,
        values: cumulative,
      };
    }
  }
}

/** Grows by a random whole number; about one in 3,000 samples is a restart. */
function counter(prng: Prng, growthMax: number, resets = true): Float64Array {
  const values = new Float64Array(daySamples);
  let value = prng.below(100_000);
  for (let index = 0; index < daySamples; index += 1) {
    value = resets && prng.below(3_000) === 0 ? 0 : value + prng.below(growthMax);
    values[index] = value;
  }
  return values;
}

/** A random walk with two decimals. */
function gauge(prng: Prng): Float64Array {
  const values = new Float64Array(daySamples);
  let cents = 100_000 + prng.below(10_000_000);
  for (let index = 0; index < daySamples; index += 1) {
    cents = Math.max(0, cents + prng.below(20_001) - 10_000);
    values[index] = cents / 100;
  }
  return values;
}
