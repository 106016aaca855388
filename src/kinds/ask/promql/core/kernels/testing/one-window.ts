/** Runs a kernel over a single window, in seconds. For tests. */
import { AnnotationSet } from "../../annotations.ts";
import type { FloatHistogram } from "../../histogram/float-histogram.ts";
import { instantGrid, type SampleColumns, stepFloat, stepHistogram } from "../../model.ts";
import { rangeKernels } from "../range-kernels.ts";
import type { MutableSteps, WindowSpec } from "../types.ts";

/** Time in seconds, value (`"stale"` ends the series), and start of the counter. */
export type Point = readonly [
  at: number,
  value: number | FloatHistogram | "stale",
  startedAt?: number,
];

export function columns(points: readonly Point[]): SampleColumns {
  const some = (is: (point: Point) => boolean) => points.some(is);
  const isHistogram = ([, value]: Point) => typeof value === "object";
  return {
    count: points.length,
    ts: Float64Array.from(points, ([at]) => at * 1000),
    values: Float64Array.from(points, ([, value]) => (typeof value === "number" ? value : -1)),
    stale: some(([, value]) => value === "stale")
      ? Uint8Array.from(points, ([, value]) => (value === "stale" ? 1 : 0))
      : undefined,
    histograms: some(isHistogram)
      ? points.map(([, value]) => (typeof value === "object" ? value : undefined))
      : undefined,
    startTs: some(([, , startedAt]) => startedAt !== undefined)
      ? Float64Array.from(points, ([, , startedAt]) => (startedAt ?? 0) * 1000)
      : undefined,
  };
}

/** A histogram of schema 0 with these buckets from (0.5, 1] on. */
export function exponential(
  buckets: readonly number[],
  counterResetHint: FloatHistogram["counterResetHint"] = "unknown",
): FloatHistogram {
  const count = buckets.reduce((sum, bucket) => sum + bucket, 0);
  return {
    counterResetHint,
    schema: 0,
    zeroThreshold: 0,
    zeroCount: 0,
    count,
    sum: count * 2,
    positiveSpans: [{ offset: 0, length: buckets.length }],
    positiveBuckets: buckets,
    negativeSpans: [],
    negativeBuckets: [],
    customValues: [],
  };
}

export function custom(
  buckets: readonly number[],
  counterResetHint: FloatHistogram["counterResetHint"] = "unknown",
): FloatHistogram {
  return { ...exponential(buckets, counterResetHint), schema: -53, customValues: [1, 2, 3] };
}

export interface Asked {
  readonly at: number;
  readonly range: number;
  readonly args?: readonly number[];
  readonly bounds?: WindowSpec["bounds"];
  readonly offset?: number;
  readonly name?: string;
}

export function oneWindow(
  fn: string,
  points: readonly Point[],
  { at, range, args = [], bounds, offset = 0, name = "x_total" }: Asked,
): { value: number | FloatHistogram | undefined; notes: string[] } {
  const out: MutableSteps = {
    kinds: new Uint8Array(1),
    values: new Float64Array(1),
    histograms: undefined,
  };
  const windows: WindowSpec = {
    grid: instantGrid(at * 1000),
    rangeMs: range * 1000,
    offsetMs: offset * 1000,
    bounds,
    lookbackMs: 300_000,
    fixed: false,
    useStartTs: true,
  };
  const annotations = new AnnotationSet();
  const kernel = rangeKernels.get(fn);
  kernel?.(
    columns(points),
    windows,
    args.map((arg) => Float64Array.of(arg)),
    name,
    out,
    annotations,
  );
  const [kind] = out.kinds;
  const value =
    kind === stepFloat ? out.values[0] : kind === stepHistogram ? out.histograms?.[0] : undefined;
  return { value, notes: annotations.entries().map(({ message }) => message) };
}
