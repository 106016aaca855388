/** Random small series and windows with edge cases, for tests. */
import fc from "fast-check";
import { addHistograms } from "../../histogram/combine.ts";
import { customBucketsSchema, type FloatHistogram } from "../../histogram/float-histogram.ts";
import type { SampleColumns } from "../../model.ts";
import type { WindowSpec } from "../types.ts";

export interface Contents {
  readonly stale: boolean;
  readonly histograms: boolean;
  readonly starts: boolean;
}

const nasty = [0, -0, Number.NaN, Infinity, -Infinity, 1e308, -1e308, 1.7e308, 5e-324, 0.1];

const value: fc.Arbitrary<number> = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -3, max: 12 }) },
  { weight: 3, arbitrary: fc.double({ min: -1e6, max: 1e6, noNaN: true }) },
  { weight: 1, arbitrary: fc.constantFrom(...nasty) },
);

export const histogram: fc.Arbitrary<FloatHistogram> = fc
  .record({
    counterResetHint: fc.constantFrom("unknown", "unknown", "gauge", "reset", "not_reset"),
    schema: fc.constantFrom(0, 0, 1, customBucketsSchema),
    zeroCount: fc.integer({ min: 0, max: 3 }),
    buckets: fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 3 }),
    offset: fc.integer({ min: 0, max: 2 }),
    sum: fc.integer({ min: 0, max: 100 }),
    bounds: fc.constantFrom([1, 2, 3, 4, 5], [1, 2, 4, 5, 6]),
  })
  .map(({ counterResetHint, schema, zeroCount, buckets, offset, sum, bounds }) => {
    const custom = schema === customBucketsSchema;
    const zeros = custom ? 0 : zeroCount;
    return {
      counterResetHint,
      schema,
      zeroThreshold: custom ? 0 : 0.001,
      zeroCount: zeros,
      count: buckets.reduce((a, b) => a + b, zeros),
      sum,
      positiveSpans: [{ offset, length: buckets.length }],
      positiveBuckets: buckets,
      negativeSpans: [],
      negativeBuckets: [],
      customValues: custom ? bounds : [],
    } as const satisfies FloatHistogram;
  });

const sample = fc.record({
  gap: fc.integer({ min: 1, max: 5 }),
  value,
  kind: fc.integer({ min: 0, max: 9 }),
  start: fc.constantFrom("unknown", "same", "previous", "between", "own", "after", "early"),
  histogram,
});

/** The kinds of samples of a series, and whether they build on each other. */
const character = fc.record({
  steady: fc.boolean(),
  /** How many of ten samples are histograms. */
  histogramShare: fc.constantFrom(0, 2, 8, 10),
  /** Whether values and buckets grow from those before, until a reset. */
  growing: fc.boolean(),
  /** The only schema; undefined for any. */
  schema: fc.constantFrom(0, customBucketsSchema, undefined),
  sameBounds: fc.boolean(),
  hint: fc.constantFrom("unknown", "gauge", undefined),
});

type Character = typeof character extends fc.Arbitrary<infer T> ? T : never;

export function samples(contents: Contents): fc.Arbitrary<SampleColumns> {
  const points = fc.array(sample, { minLength: 0, maxLength: 40, size: "max" });
  return fc.tuple(points, character).map(([all, of]) => columnsOf(all, of, contents));
}

type Sample = typeof sample extends fc.Arbitrary<infer T> ? T : never;

function columnsOf(points: Sample[], of: Character, contents: Contents): SampleColumns {
  const count = points.length;
  const ts = new Float64Array(count);
  const values = new Float64Array(count);
  const stale = new Uint8Array(count);
  const histograms: (FloatHistogram | undefined)[] = [];
  const startTs = new Float64Array(count);
  let t = 100;
  let grown: FloatHistogram | undefined;
  points.forEach((point, index) => {
    const previous = t;
    t += of.steady ? 2 : point.gap;
    ts[index] = t;
    const goesOn = of.growing && point.kind !== 5;
    const before = goesOn && index > 0 ? (values[index - 1] as number) : 0;
    values[index] = goesOn ? before + Math.abs(point.value) : point.value;
    stale[index] = contents.stale && point.kind === 0 ? 1 : 0;
    const isHistogram = stale[index] === 0 && (point.kind * 7) % 10 < of.histogramShare;
    const shaped = shape(point.histogram, of);
    grown = goesOn && grown?.schema === shaped.schema ? grow(grown, shaped) : shaped;
    histograms.push(isHistogram ? grown : undefined);
    startTs[index] = {
      unknown: 0,
      same: startTs[index - 1] ?? 0,
      previous,
      between: (previous + t) / 2,
      own: t,
      after: t + 3,
      early: 90,
    }[point.start];
  });
  return {
    count,
    ts,
    values,
    stale: contents.stale ? stale : undefined,
    histograms: contents.histograms ? histograms : undefined,
    startTs: contents.starts ? startTs : undefined,
  };
}

function shape(histogram: FloatHistogram, of: Character): FloatHistogram {
  const schema = of.schema ?? histogram.schema;
  const custom = schema === customBucketsSchema;
  const zeroCount = custom ? 0 : histogram.zeroCount;
  const bounds =
    of.sameBounds || histogram.customValues.length === 0 ? [1, 2, 3, 4, 5] : histogram.customValues;
  return {
    ...histogram,
    schema,
    counterResetHint: of.hint ?? histogram.counterResetHint,
    zeroThreshold: custom ? 0 : 0.001,
    zeroCount,
    count: histogram.positiveBuckets.reduce((a, b) => a + b, zeroCount),
    customValues: custom ? bounds : [],
  };
}

function grow(a: FloatHistogram, b: FloatHistogram): FloatHistogram {
  const sum = addHistograms(a, b);
  return sum === "incompatible" ? b : { ...sum.result, counterResetHint: b.counterResetHint };
}

export const windows: fc.Arbitrary<WindowSpec> = fc
  .record({
    startMs: fc.integer({ min: 95, max: 150 }),
    steps: fc.integer({ min: 5, max: 25 }),
    stepMs: fc.integer({ min: 1, max: 9 }),
    ragged: fc.boolean(),
    rangeMs: fc.integer({ min: 1, max: 40 }),
    offsetMs: fc.integer({ min: -4, max: 8 }),
    lookbackMs: fc.integer({ min: 1, max: 12 }),
    fixed: fc.constantFrom(true, false, false, false),
    useStartTs: fc.constantFrom(true, true, false),
  })
  .map(({ startMs, steps, stepMs, ragged, ...rest }) => ({
    ...rest,
    bounds: undefined,
    grid: { startMs, endMs: startMs + (steps - 1) * stepMs + (ragged ? stepMs - 1 : 0), stepMs },
  }));
