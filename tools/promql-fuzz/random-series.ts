/**
 * Small random series of every kind: counters with resets, gauges, gaps, stale markers, histograms,
 * odd values.
 */
import type { Prng } from "../../src/ground/kernel/prng.ts";
import {
  customBucketsSchema,
  type FloatHistogram,
  Labels,
  type RawSeries,
  withStoredHint,
} from "../../src/kinds/ask/promql/core/index.ts";

const intervalsMs = [15_000, 30_000, 60_000];

export function randomSeries(prng: Prng, baseMs: number, lengthMs: number): RawSeries[] {
  const series: RawSeries[] = [];
  const add = (labels: Record<string, string>, kind: Kind) => {
    series.push({ labels: Labels.of(labels), samples: samplesOf(prng, kind, baseMs, lengthMs) });
  };
  for (const job of ["a", "b", "c"]) {
    for (const instance of ["0", "1"]) {
      add({ __name__: "requests_total", job, instance }, "counter");
      add({ __name__: "memory", job, instance }, "gauge");
      if (job !== "c") add({ __name__: "odd", job, instance }, "odd");
      if (instance === "0") add({ __name__: "latency", job }, "histogram");
      if (instance === "0") add({ __name__: "size", job }, "custom");
    }
    add({ __name__: "limits", job }, "gauge");
    add({ __name__: "target_info", job, instance: "0", version: `v${job}` }, "one");
  }
  for (const le of ["0.1", "1", "10", "+Inf"]) add({ __name__: "wait_bucket", le }, "counter");
  add({ __name__: "mixed", job: "a" }, "mixed");
  return series;
}

type Kind = "counter" | "gauge" | "odd" | "one" | "histogram" | "custom" | "mixed";

function samplesOf(prng: Prng, kind: Kind, baseMs: number, lengthMs: number): RawSeries["samples"] {
  const intervalMs = intervalsMs[prng.below(intervalsMs.length)] as number;
  const phaseMs = prng.below(2) === 0 ? 0 : prng.below(intervalMs);
  const ts: number[] = [];
  const values: number[] = [];
  const stale: number[] = [];
  const histograms: (FloatHistogram | undefined)[] = [];
  let value = prng.below(1000);
  let histogram = kind === "custom" ? emptyHistogram(prng, true) : emptyHistogram(prng, false);
  let previous: FloatHistogram | undefined;
  let gap = 0;
  for (let at = baseMs + phaseMs; at < baseMs + lengthMs; at += intervalMs) {
    gap = gap > 0 ? gap - 1 : prng.below(40) === 0 ? prng.below(15) : 0;
    if (gap > 0) continue;
    const isStale = prng.below(50) === 0;
    const isHistogram = ["histogram", "custom"].includes(kind) || (kind === "mixed" && at % 7 < 4);
    ts.push(at);
    stale.push(Number(isStale));
    value = nextValue(prng, kind, value);
    values.push(isStale || isHistogram ? 0 : value);
    if (isHistogram && !isStale) {
      histogram = nextHistogram(prng, histogram);
      const kept = withStoredHint(histogram, previous);
      histograms.push(kept);
      previous = kept;
    } else {
      histograms.push(undefined);
      previous = undefined;
    }
  }
  return {
    count: ts.length,
    ts: Float64Array.from(ts),
    values: Float64Array.from(values),
    stale: stale.includes(1) ? Uint8Array.from(stale) : undefined,
    histograms: histograms.some((each) => each !== undefined) ? histograms : undefined,
    startTs: undefined,
  };
}

function nextValue(prng: Prng, kind: Kind, value: number): number {
  switch (kind) {
    case "counter":
      return prng.below(30) === 0 ? prng.below(5) : value + prng.below(50);
    case "odd": {
      const odd = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, -0, 1e300];
      return prng.below(4) === 0 ? (odd[prng.below(odd.length)] as number) : prng.next() * 10 - 5;
    }
    case "one":
      return 1;
    default:
      return Number.isFinite(value) ? value + prng.next() * 20 - 10 : 0;
  }
}

function emptyHistogram(prng: Prng, custom: boolean): FloatHistogram {
  const length = 2 + prng.below(4);
  return {
    counterResetHint: "unknown",
    schema: custom ? customBucketsSchema : prng.below(3),
    zeroThreshold: custom ? 0 : 0.001,
    zeroCount: 0,
    count: 0,
    sum: 0,
    positiveSpans: [{ offset: custom ? 0 : prng.below(3), length }],
    positiveBuckets: new Array(length).fill(0),
    negativeSpans: custom ? [] : [{ offset: 0, length: 1 }],
    negativeBuckets: custom ? [] : [0],
    customValues: custom ? Array.from({ length: length - 1 }, (_, index) => (index + 1) * 2.5) : [],
  };
}

/** Observations are added; now and then it starts anew. Counts are exact sums of the buckets. */
function nextHistogram(prng: Prng, histogram: FloatHistogram): FloatHistogram {
  const reset = prng.below(25) === 0;
  const grow = (count: number) => (reset ? 0 : count) + prng.below(5);
  const positiveBuckets = histogram.positiveBuckets.map(grow);
  const negativeBuckets = histogram.negativeBuckets.map(grow);
  const zeroCount = histogram.zeroThreshold === 0 ? 0 : grow(histogram.zeroCount);
  const all = [...positiveBuckets, ...negativeBuckets, zeroCount];
  return {
    ...histogram,
    positiveBuckets,
    negativeBuckets,
    zeroCount,
    count: all.reduce((sum, count) => sum + count, 0),
    sum: (reset ? 0 : histogram.sum) + prng.next() * 10,
  };
}
