import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { AnnotationSet } from "../annotations.ts";
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import { type SampleColumns, stepCount, stepFloat, stepHistogram } from "../model.ts";
import { rangeKernels } from "./range-kernels.ts";
import { type Contents, samples, windows } from "./testing/arbitraries.ts";
import { naiveWindows, type Value } from "./testing/naive-windows.ts";
import type { WindowSpec } from "./types.ts";

const plain = { stale: false, histograms: false, starts: false };
const contents: readonly (readonly [string, Contents])[] = [
  ["floats", plain],
  ["floats and stale markers", { ...plain, stale: true }],
  ["start timestamps", { ...plain, starts: true }],
  ["everything at once", { stale: true, histograms: true, starts: true }],
];

/** Arguments with one value for all steps, or one per step. */
function argsOf(name: string, steps: number, varying: boolean): Float64Array[] {
  const spread = (values: readonly number[]) =>
    varying
      ? Float64Array.from({ length: steps }, (_, step) => values[step % values.length] as number)
      : Float64Array.of(values[0] as number);
  if (name === "quantile_over_time") return [spread([0.9, 0, 1, 0.5, -1, 2, Number.NaN])];
  if (name === "predict_linear") return [spread([60, -3, 0.5])];
  if (name === "double_exponential_smoothing") return [spread([0.3, 0.9]), spread([0.6, 0.01])];
  return [];
}

function checkKernel(
  name: string,
  series: SampleColumns,
  spec: WindowSpec,
  varying: boolean,
): void {
  const steps = stepCount(spec.grid);
  const args = argsOf(name, steps, varying);
  const out = {
    kinds: new Uint8Array(steps).fill(9),
    values: new Float64Array(steps).fill(123),
    histograms: undefined as (FloatHistogram | undefined)[] | undefined,
  };
  const annotations = new AnnotationSet();
  rangeKernels.get(name)?.(series, spec, args, "metric", out, annotations);
  const got = Array.from(out.kinds, (kind, step): Value => {
    if (kind === stepFloat) return out.values[step];
    assert.ok(kind === 0 || kind === stepHistogram, `kind ${kind} at step ${step}`);
    return kind === stepHistogram ? out.histograms?.[step] : undefined;
  });
  const expected = new AnnotationSet();
  const want = naiveWindows(name, series, spec, args, "metric", expected);
  assert.deepEqual(got.map(unsignedZero), want.map(unsignedZero));
  const texts = (set: AnnotationSet) => set.entries().map((entry) => JSON.stringify(entry));
  assert.deepEqual(new Set(texts(annotations)), new Set(texts(expected)));
}

/** The sign of a sum of zeros does not matter. */
const unsignedZero = (value: Value): Value => (value === 0 ? 0 : value);

for (const name of rangeKernels.keys()) {
  for (const [what, of] of contents) {
    test(`[KL1] ${name} of sliding windows is that of each window: ${what}`, () => {
      fc.assert(
        fc.property(samples(of), windows, fc.boolean(), (series, spec, varying) =>
          checkKernel(name, series, spec, varying),
        ),
        { numRuns: 150 },
      );
    });
  }
}

const withBounds = [
  ["anchored", ["changes", "resets", "rate", "increase", "delta"]],
  ["smoothed", ["rate", "increase", "delta"]],
] as const;
for (const [bounds, names] of withBounds) {
  for (const name of names) {
    test(`[KL8] ${bounds} ${name} of sliding windows is that of each window`, () => {
      fc.assert(
        fc.property(
          samples({ stale: true, histograms: true, starts: true }),
          windows,
          (series, spec) => checkKernel(name, series, { ...spec, bounds }, false),
        ),
        { numRuns: 300 },
      );
    });
  }
}

/** Long enough for the engine's sort, and for moving single values of a large window. */
const longSeries = fc
  .array(fc.oneof(fc.integer({ min: -50, max: 50 }), fc.constant(Number.NaN), fc.double()), {
    minLength: 150,
    maxLength: 300,
    size: "max",
  })
  .map(
    (values): SampleColumns => ({
      count: values.length,
      ts: Float64Array.from(values, (_, index) => 100 + 2 * index + (index % 3 === 0 ? 1 : 0)),
      values: Float64Array.from(values),
      stale: undefined,
      histograms: undefined,
      startTs: undefined,
    }),
  );
const longWindows = fc
  .record({ rangeMs: fc.integer({ min: 90, max: 400 }), stepMs: fc.integer({ min: 1, max: 60 }) })
  .map(
    ({ rangeMs, stepMs }): WindowSpec => ({
      grid: { startMs: 150, endMs: 600, stepMs },
      rangeMs,
      offsetMs: 0,
      bounds: undefined,
      lookbackMs: 0,
      fixed: false,
      useStartTs: true,
    }),
  );
for (const name of [
  "quantile_over_time",
  "mad_over_time",
  "max_over_time",
  "min_over_time",
  "sum_over_time",
]) {
  test(`[KL1] ${name} of long windows is that of each window`, () => {
    fc.assert(
      fc.property(longSeries, longWindows, (series, spec) =>
        checkKernel(name, series, spec, false),
      ),
      { numRuns: 12 },
    );
  });
}
