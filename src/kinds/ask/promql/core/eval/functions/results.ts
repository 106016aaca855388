/** Builds the results of functions: series without a metric name. */
import type { FloatHistogram } from "../../histogram/float-histogram.ts";
import type { Labels } from "../../labels.ts";
import { type StepSeries, stepAbsent, stepFloat, stepHistogram } from "../../model.ts";
import { withoutMetadata } from "../result-labels.ts";
import { hasSample } from "../step-columns.ts";
import type { InstantContext, InstantResult } from "./types.ts";

/** Removes the metric name, unless removal is delayed to the end. */
export function unnamed(labels: Labels, context: InstantContext): Labels {
  return context.options.delayedNameRemoval ? labels : withoutMetadata(labels);
}

/** The metric's name in annotations; empty without delayed removal, when it is no longer known. */
export function annotatedName(labels: Labels, context: InstantContext): string {
  return context.options.delayedNameRemoval ? labels.name : "";
}

export function floatSeries(
  labels: Labels,
  context: InstantContext,
  kinds: Uint8Array,
  values: Float64Array,
): StepSeries {
  const dropName = context.options.delayedNameRemoval;
  return { labels, dropName, kinds, values, histograms: undefined };
}

export function vectorOf(series: readonly StepSeries[]): InstantResult {
  return { type: "vector", series };
}

/** Applies `compute` to every float; histograms are left out. */
export function mapFloats(
  series: readonly StepSeries[],
  context: InstantContext,
  compute: (value: number, step: number) => number,
): InstantResult {
  const mapped: StepSeries[] = [];
  for (const one of series) {
    const kinds = floatKinds(one);
    if (kinds === undefined) continue;
    const values = new Float64Array(kinds.length);
    for (let step = 0; step < kinds.length; step += 1) {
      if (kinds[step] === stepFloat) values[step] = compute(one.values[step] as number, step);
    }
    mapped.push(floatSeries(unnamed(one.labels, context), context, kinds, values));
  }
  return vectorOf(mapped);
}

/** Applies `compute` to every histogram; floats are left out. */
export function mapHistograms(
  series: readonly StepSeries[],
  context: InstantContext,
  compute: (histogram: FloatHistogram) => number,
): InstantResult {
  const mapped: StepSeries[] = [];
  for (const one of series) {
    if (one.histograms === undefined) continue;
    const kinds = new Uint8Array(one.kinds.length);
    const values = new Float64Array(one.kinds.length);
    for (let step = 0; step < kinds.length; step += 1) {
      if (one.kinds[step] !== stepHistogram) continue;
      kinds[step] = stepFloat;
      values[step] = compute(one.histograms[step] as FloatHistogram);
    }
    if (!hasSample(kinds)) continue;
    // Only the name is removed here, not the other labels that describe the metric.
    const labels = context.options.delayedNameRemoval ? one.labels : one.labels.withoutName();
    mapped.push(floatSeries(labels, context, kinds, values));
  }
  return vectorOf(mapped);
}

/** The kinds with floats only; undefined when there is none. */
function floatKinds({ kinds, histograms }: StepSeries): Uint8Array | undefined {
  if (histograms === undefined) return kinds;
  const floats = kinds.map((kind) => (kind === stepFloat ? stepFloat : stepAbsent));
  return hasSample(floats) ? floats : undefined;
}

/** Removes histograms. */
export function onlyFloats(series: readonly StepSeries[]): StepSeries[] {
  const kept: StepSeries[] = [];
  for (const one of series) {
    const kinds = floatKinds(one);
    if (kinds !== undefined) kept.push({ ...one, kinds, histograms: undefined });
  }
  return kept;
}
