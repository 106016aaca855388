/**
 * histogram_quantile, histogram_quantiles and histogram_fraction, of native and classic histograms.
 */
import {
  annotate,
  fractionWithoutNanObservations,
  invalidQuantile,
  quantileOfNanObservations,
  quantileSkewedByNanObservations,
} from "../../annotations.ts";
import { formatGeneral } from "../../go-format.ts";
import type { FloatHistogram } from "../../histogram/float-histogram.ts";
import {
  histogramFraction,
  histogramQuantile,
  type QuantileNote,
} from "../../histogram/quantile.ts";
import type { Labels } from "../../labels.ts";
import { type StepSeries, stepCount, stepFloat } from "../../model.ts";
import { hasSample, stepTimes } from "../step-columns.ts";
import { scalarAt, stringAt, vectorAt } from "./arguments.ts";
import {
  type ClassicBuckets,
  classicFraction,
  classicQuantile,
  forceMonotonic,
} from "./classic-buckets.ts";
import {
  type ClassicInput,
  type HistogramInput,
  histogramInput,
  type NativeInput,
} from "./histogram-input.ts";
import { MonotonicityNotes } from "./monotonicity-notes.ts";
import { annotatedName, floatSeries, unnamed, vectorOf } from "./results.ts";
import type { InstantContext, InstantFunction } from "./types.ts";

const quantileOf: InstantFunction = (args, context) => {
  const quantiles = scalarAt(args, 0);
  warnOfInvalid(quantiles, 0, context);
  const evaluation = new QuantileEvaluation(vectorAt(args, 1), 1, context);
  const series = evaluation.seriesFor(quantiles);
  evaluation.reportMonotonicity();
  return vectorOf(series);
};

/** Each result series has its quantile in a label. */
const quantilesOf: InstantFunction = (args, context) => {
  const label = stringAt(args, 1);
  const all = args.slice(2).map((_, index) => scalarAt(args, index + 2));
  for (const [index, quantiles] of all.entries()) warnOfInvalid(quantiles, index + 2, context);
  const evaluation = new QuantileEvaluation(vectorAt(args, 0), 0, context);
  const series = all.flatMap((quantiles) =>
    evaluation
      .seriesFor(quantiles)
      .flatMap((one) => labelledByQuantile(one, quantiles, label, context)),
  );
  evaluation.reportMonotonicity();
  return vectorOf(series);
};

const fractionOf: InstantFunction = (args, context) => {
  const lower = scalarAt(args, 0);
  const upper = scalarAt(args, 1);
  const { native, classic } = histogramInput(vectorAt(args, 2), 2, context);
  const ofNative = native.map((one) => {
    let hasNan = false;
    const series = nativeSeries(one, context, (histogram, step) =>
      histogramFraction(lower[step] as number, upper[step] as number, histogram, () => {
        hasNan = true;
      }),
    );
    const note = fractionWithoutNanObservations(annotatedName(one.series.labels, context));
    if (hasNan) annotate(context.annotations, note, 2);
    return series;
  });
  const ofClassic = classic.map((one) =>
    classicSeries(one, context, (buckets, step) =>
      buckets.isComplete
        ? classicFraction(lower[step] as number, upper[step] as number, buckets)
        : Number.NaN,
    ),
  );
  return vectorOf([...ofNative, ...ofClassic].filter(isPresent));
};

class QuantileEvaluation {
  readonly #input: HistogramInput;
  readonly #place: number;
  readonly #context: InstantContext;
  readonly #notes = new MonotonicityNotes();
  readonly #times: Float64Array;
  /** 1 at steps where a classic histogram was changed, so that many quantiles of it count once. */
  readonly #noted = new Map<ClassicInput, Uint8Array>();

  /** `place` is the index of the vector among the arguments. */
  constructor(vector: readonly StepSeries[], place: number, context: InstantContext) {
    this.#input = histogramInput(vector, place, context);
    this.#place = place;
    this.#context = context;
    this.#times = stepTimes(context.grid);
  }

  seriesFor(quantiles: Float64Array): StepSeries[] {
    const { native, classic } = this.#input;
    return [
      ...native.map((one) => this.#ofNative(one, quantiles)),
      ...classic.map((one) => this.#ofClassic(one, quantiles)),
    ].filter(isPresent);
  }

  reportMonotonicity(): void {
    this.#notes.report(this.#context.annotations, this.#place);
  }

  #ofNative(input: NativeInput, quantiles: Float64Array): StepSeries | undefined {
    const name = annotatedName(input.series.labels, this.#context);
    const seen = new Set<QuantileNote>();
    const note = (kind: QuantileNote): void => {
      if (seen.has(kind)) return;
      seen.add(kind);
      const made =
        kind === "nan_result"
          ? quantileOfNanObservations(name)
          : quantileSkewedByNanObservations(name);
      annotate(this.#context.annotations, made, this.#place);
    };
    return nativeSeries(input, this.#context, (histogram, step) =>
      histogramQuantile(quantiles[step] as number, histogram, note),
    );
  }

  #ofClassic(input: ClassicInput, quantiles: Float64Array): StepSeries | undefined {
    return classicSeries(input, this.#context, (buckets, step) => {
      const quantile = quantiles[step] as number;
      if (Number.isNaN(quantile)) return Number.NaN;
      if (quantile < 0) return Number.NEGATIVE_INFINITY;
      if (quantile > 1) return Number.POSITIVE_INFINITY;
      if (!buckets.isComplete) return Number.NaN;
      this.#makeMonotonic(input, buckets, step);
      return classicQuantile(quantile, buckets);
    });
  }

  #makeMonotonic(input: ClassicInput, buckets: ClassicBuckets, step: number): void {
    const forced = forceMonotonic(buckets);
    if (forced === undefined) return;
    const noted = this.#noted.get(input) ?? new Uint8Array(this.#times.length);
    this.#noted.set(input, noted);
    if (noted[step] === 1) return;
    noted[step] = 1;
    this.#notes.add(
      annotatedName(input.labels, this.#context),
      forced,
      this.#times[step] as number,
    );
  }
}

function nativeSeries(
  { series, usable }: NativeInput,
  context: InstantContext,
  compute: (histogram: FloatHistogram, step: number) => number,
): StepSeries | undefined {
  const kinds = new Uint8Array(usable.length);
  const values = new Float64Array(usable.length);
  for (let step = 0; step < kinds.length; step += 1) {
    if (usable[step] === 0) continue;
    kinds[step] = stepFloat;
    values[step] = compute(series.histograms?.[step] as FloatHistogram, step);
  }
  return presentSeries(series.labels, context, kinds, values);
}

function classicSeries(
  input: ClassicInput,
  context: InstantContext,
  compute: (buckets: ClassicBuckets, step: number) => number,
): StepSeries | undefined {
  const steps = stepCount(context.grid);
  const kinds = new Uint8Array(steps);
  const values = new Float64Array(steps);
  for (let step = 0; step < steps; step += 1) {
    const buckets = input.bucketsAt(step);
    if (buckets === undefined) continue;
    kinds[step] = stepFloat;
    values[step] = compute(buckets, step);
  }
  return presentSeries(input.labels, context, kinds, values);
}

function presentSeries(
  labels: Labels,
  context: InstantContext,
  kinds: Uint8Array,
  values: Float64Array,
): StepSeries | undefined {
  if (!hasSample(kinds)) return undefined;
  return floatSeries(unnamed(labels, context), context, kinds, values);
}

function isPresent(series: StepSeries | undefined): series is StepSeries {
  return series !== undefined;
}

function warnOfInvalid(quantiles: Float64Array, place: number, context: InstantContext): void {
  let before: number | undefined;
  for (const quantile of quantiles) {
    if (quantile >= 0 && quantile <= 1) continue;
    if (before !== undefined && Object.is(quantile, before)) continue;
    before = quantile;
    annotate(context.annotations, invalidQuantile(quantile), place);
  }
}

/** One series for each quantile asked for; usually all steps have the same one. */
function labelledByQuantile(
  series: StepSeries,
  quantiles: Float64Array,
  label: string,
  { make }: InstantContext,
): StepSeries[] {
  return [...new Set(quantiles)].flatMap((quantile) => {
    const kinds = series.kinds.map((kind, step) =>
      Object.is(quantiles[step], quantile) || quantiles[step] === quantile ? kind : 0,
    );
    if (!hasSample(kinds)) return [];
    const labels = make(series.labels.with(label, quantileToText(quantile)));
    return [{ ...series, labels, kinds }];
  });
}

/** Formats like OpenMetrics, with a point or an exponent. */
function quantileToText(quantile: number): string {
  const text = formatGeneral(Object.is(quantile, -0) ? 0 : quantile);
  return Number.isFinite(quantile) && !/[.e]/.test(text) ? `${text}.0` : text;
}

export const quantileFunctions: readonly (readonly [name: string, evaluate: InstantFunction])[] = [
  ["histogram_fraction", fractionOf],
  ["histogram_quantile", quantileOf],
  ["histogram_quantiles", quantilesOf],
];
