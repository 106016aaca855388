/**
 * The metrics of a simulated cluster: counters that reset, gauges, a classic and a native
 * histogram, series that end and come back. A few variants are made once for each thread and shared
 * by all worlds. A sample depends only on its variant, series and time. Samples are appended in the
 * order of `seq`; a few arrive later than younger ones of their series.
 */
import { createPrng, type Prng } from "../../src/ground/kernel/prng.ts";
import { fingerprint } from "../../src/kinds/ask/metrics/index.ts";
import {
  compareLabels,
  type FloatHistogram,
  Labels,
  type RawSeries,
  type SampleColumns,
} from "../../src/kinds/ask/promql/core/index.ts";

export interface StoredSeries extends RawSeries {
  /** The batch that brought each sample. */
  readonly seq: Uint32Array;
  /** The first bits of the series' fingerprint. */
  readonly hi: number;
}

/** When the first batch came, in milliseconds since 1970. */
export const dataStartMs = 1_700_000_040_000;
export const scrapeMs = 15_000;
/** Batches that were there before the world started, and those that come while it runs. */
export const batchesBefore = 220;
const batchesMax = 280;
/** How many batches late a late sample is. */
export const lateBatches = 2;
const variants = 8;

const made = new Map<number, DataSet>();

/** The same data set for the same seed. */
export function dataSetOf(prng: Prng): DataSet {
  const variant = prng.below(variants);
  let known = made.get(variant);
  if (known === undefined) {
    known = new DataSet(createPrng(`metrics ${variant}`));
    made.set(variant, known);
  }
  return known;
}

export class DataSet {
  /** Sorted by labels. */
  readonly series: readonly StoredSeries[];
  readonly #moments = new Map<number, readonly RawSeries[]>();

  constructor(prng: Prng) {
    this.series = [
      ...counters(prng),
      ...gauges(prng),
      ...classicHistograms(prng),
      ...nativeHistograms(prng),
      ...flapping(prng),
    ].sort((a, b) => compareLabels(a.labels, b.labels));
  }

  /** Everything that the first `seq` batches brought. */
  at(seq: number): readonly RawSeries[] {
    let known = this.#moments.get(seq);
    if (known === undefined) {
      known = this.series.map((each) => ({
        labels: each.labels,
        samples: appendedUntil(each, seq),
      }));
      this.#moments.set(seq, known);
    }
    return known;
  }
}

/**
 * The samples that the first `seq` batches brought: a view, unless a late one is missing among
 * them.
 */
export function appendedUntil(
  { samples, seq: batches }: Pick<StoredSeries, "samples" | "seq">,
  seq: number,
): SampleColumns {
  let whole = 0;
  while (whole < samples.count && (batches[whole] as number) <= seq) whole += 1;
  const later: number[] = [];
  for (let index = whole; index < samples.count; index += 1) {
    if ((batches[index] as number) <= seq) later.push(index);
  }
  if (later.length === 0) return headOf(samples, whole);
  return pick(samples, [...Array.from({ length: whole }, (_, index) => index), ...later]);
}

function headOf(samples: SampleColumns, count: number): SampleColumns {
  return {
    count,
    ts: samples.ts.subarray(0, count),
    values: samples.values.subarray(0, count),
    stale: samples.stale?.subarray(0, count),
    histograms: samples.histograms?.slice(0, count),
    startTs: undefined,
  };
}

function pick(samples: SampleColumns, indexes: readonly number[]): SampleColumns {
  const { ts, values, stale, histograms } = samples;
  return {
    count: indexes.length,
    ts: Float64Array.from(indexes, (index) => ts[index] as number),
    values: Float64Array.from(indexes, (index) => values[index] as number),
    stale:
      stale === undefined ? undefined : Uint8Array.from(indexes, (index) => stale[index] as number),
    histograms: histograms === undefined ? undefined : indexes.map((index) => histograms[index]),
    startTs: undefined,
  };
}

/** Undefined when nothing was scraped; `"stale"` when the series ended. */
type Point = number | FloatHistogram | "stale" | undefined;

interface SeriesOptions {
  readonly labels: Readonly<Record<string, string>>;
  /** Its target answers so long after each scrape began. */
  readonly delayMs: number;
  readonly isLate: boolean;
}

function seriesOf(options: SeriesOptions, next: (batch: number) => Point): StoredSeries {
  const ts: number[] = [];
  const points: Exclude<Point, undefined>[] = [];
  const seq: number[] = [];
  for (let batch = 0; batch < batchesMax; batch += 1) {
    const point = next(batch);
    if (point === undefined) continue;
    ts.push(dataStartMs + batch * scrapeMs + options.delayMs);
    points.push(point);
    seq.push(batch + 1 + (options.isLate && batch % 5 === 0 ? lateBatches : 0));
  }
  const histograms = points.map((point) => (typeof point === "object" ? point : undefined));
  const labels = Labels.of(options.labels);
  return {
    labels,
    samples: {
      count: ts.length,
      ts: Float64Array.from(ts),
      values: Float64Array.from(points, (point) => (typeof point === "number" ? point : 0)),
      stale: points.includes("stale")
        ? Uint8Array.from(points, (point) => (point === "stale" ? 1 : 0))
        : undefined,
      histograms: histograms.some((each) => each !== undefined) ? histograms : undefined,
      startTs: undefined,
    },
    seq: Uint32Array.from(seq),
    hi: fingerprint(labels).hi,
  };
}

const jobs = ["api", "db"];
const instances = ["a", "b", "c"];
const targets = jobs.flatMap((job) => instances.map((instance) => ({ job, instance })));

function delayOf(prng: Prng): number {
  return prng.below(4_000);
}

function counters(prng: Prng): StoredSeries[] {
  return targets.flatMap((target) => {
    const delayMs = delayOf(prng);
    const resetAt = prng.below(batchesMax);
    return ["200", "500"].map((code) => {
      let count = prng.below(1_000);
      return seriesOf(
        {
          labels: { __name__: "requests_total", ...target, code },
          delayMs,
          isLate: target.instance === "c",
        },
        (batch) => {
          if (batch === resetAt) count = 0;
          count += prng.below(code === "200" ? 200 : 5);
          return prng.next() < 0.02 ? undefined : count;
        },
      );
    });
  });
}

/** In eighths, so that sums are the same in any order. */
function gauges(prng: Prng): StoredSeries[] {
  const memory = targets.map((target) => {
    const delayMs = delayOf(prng);
    const isLate = target.instance === "b";
    return seriesOf({ labels: { __name__: "memory_bytes", ...target }, delayMs, isLate }, () =>
      prng.next() < 0.02 ? undefined : prng.below(80_000) / 8,
    );
  });
  const rooms = ["attic", "cellar", "hall", "stair"];
  const temperature = rooms.map((room, index) =>
    seriesOf(
      { labels: { __name__: "temperature", room }, delayMs: delayOf(prng), isLate: false },
      (batch) => (index === 0 && batch % 50 === 7 ? Number.NaN : prng.below(480) / 8 - 20),
    ),
  );
  return [...memory, ...temperature];
}

const bounds = ["0.1", "0.5", "1", "5", "+Inf"];

function classicHistograms(prng: Prng): StoredSeries[] {
  return jobs.flatMap((job) => {
    const delayMs = delayOf(prng);
    const grown = Array.from({ length: batchesMax }, () => bounds.map(() => prng.below(20)));
    const totals = bounds.map((le, bound) => {
      let total = 0;
      const labels = { __name__: "latency_seconds_bucket", job, le };
      return seriesOf({ labels, delayMs, isLate: false }, (batch) => {
        for (let below = 0; below <= bound; below += 1) total += grown[batch]?.[below] ?? 0;
        return total;
      });
    });
    let count = 0;
    const labels = { __name__: "latency_seconds_count", job };
    const counted = seriesOf({ labels, delayMs, isLate: false }, (batch) => {
      for (const each of grown[batch] ?? []) count += each;
      return count;
    });
    return [...totals, counted];
  });
}

function nativeHistograms(prng: Prng): StoredSeries[] {
  return targets
    .filter(({ instance }) => instance !== "c")
    .map((target) => {
      let buckets = [0, 0, 0, 0];
      const resetAt = prng.below(batchesMax);
      return seriesOf(
        {
          labels: { __name__: "size_bytes", ...target },
          delayMs: delayOf(prng),
          isLate: target.instance === "b",
        },
        (batch) => {
          const before = batch === resetAt ? [0, 0, 0, 0] : buckets;
          buckets = before.map((bucket) => bucket + prng.below(6));
          return histogramOf(buckets);
        },
      );
    });
}

function histogramOf(buckets: readonly number[]): FloatHistogram {
  const count = buckets.reduce((sum, bucket) => sum + bucket, 0);
  return {
    counterResetHint: "unknown",
    schema: 0,
    zeroThreshold: 0.001,
    zeroCount: 0,
    count,
    sum: count * 2.5,
    positiveSpans: [{ offset: 0, length: buckets.length }],
    positiveBuckets: buckets,
    negativeSpans: [],
    negativeBuckets: [],
    customValues: [],
  };
}

/** Series that end with a stale marker, stay away for a while, and come back. */
function flapping(prng: Prng): StoredSeries[] {
  return instances.map((instance) => {
    let left = 10 + prng.below(30);
    let isUp = true;
    const labels = { __name__: "up_since", job: "api", instance };
    return seriesOf({ labels, delayMs: delayOf(prng), isLate: false }, (batch) => {
      left -= 1;
      if (left > 0) return isUp ? batch : undefined;
      left = 10 + prng.below(30);
      isUp = !isUp;
      return isUp ? batch : "stale";
    });
  });
}
