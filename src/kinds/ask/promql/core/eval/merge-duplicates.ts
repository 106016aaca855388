/** Merges series with equal labels if they never have a sample at the same step. */
import { PromqlError } from "../engine-types.ts";
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import { compareLabels } from "../labels.ts";
import { type StepSeries, stepAbsent } from "../model.ts";
import { firstSample } from "./step-columns.ts";

export function mergeDuplicates(series: readonly StepSeries[]): readonly StepSeries[] {
  if (areAscending(series)) return series;
  const indexes = new Map<string, number>();
  let merged: StepSeries[] | undefined;
  for (let index = 0; index < series.length; index += 1) {
    const one = series[index] as StepSeries;
    const { key } = one.labels;
    const known = indexes.get(key);
    if (known === undefined) {
      indexes.set(key, merged === undefined ? index : merged.length);
      merged?.push(one);
    } else {
      merged ??= series.slice(0, index);
      merged[known] = mergeTwo(merged[known] as StepSeries, one);
    }
  }
  return merged ?? series;
}

export function refuseDuplicates(series: readonly StepSeries[]): void {
  if (areAscending(series)) return;
  const keys = new Set<string>();
  for (const { labels } of series) {
    if (keys.has(labels.key)) throw sameLabelset();
    keys.add(labels.key);
  }
}

/** Merged shards are in label order; then no two series are equal. */
function areAscending(series: readonly StepSeries[]): boolean {
  for (let index = 1; index < series.length; index += 1) {
    const [before, after] = [series[index - 1] as StepSeries, series[index] as StepSeries];
    if (compareLabels(before.labels, after.labels) >= 0) return false;
  }
  return true;
}

function mergeTwo(a: StepSeries, b: StepSeries): StepSeries {
  const steps = a.kinds.length;
  const kinds = a.kinds.slice();
  const values = a.values.slice();
  const withHistograms = a.histograms !== undefined || b.histograms !== undefined;
  const histograms = withHistograms
    ? (a.histograms?.slice() ?? new Array<FloatHistogram | undefined>(steps).fill(undefined))
    : undefined;
  for (let step = 0; step < steps; step += 1) {
    const kind = b.kinds[step] as number;
    if (kind === stepAbsent) continue;
    if (kinds[step] !== stepAbsent) throw sameLabelset();
    kinds[step] = kind;
    values[step] = b.values[step] as number;
    if (histograms !== undefined) histograms[step] = b.histograms?.[step];
  }
  const first = firstSample(a.kinds) <= firstSample(b.kinds) ? a : b;
  return { labels: a.labels, dropName: first.dropName, kinds, values, histograms };
}

function sameLabelset(): PromqlError {
  return new PromqlError("execution", "vector cannot contain metrics with the same labelset");
}
