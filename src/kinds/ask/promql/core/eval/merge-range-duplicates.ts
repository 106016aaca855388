/** Like `merge-duplicates.ts`, for samples with their own times. */
import { PromqlError } from "../engine-types.ts";
import type { SampleColumns } from "../model.ts";
import type { RangeSeries } from "./exec-node.ts";

export function mergeRangeDuplicates(series: readonly RangeSeries[]): readonly RangeSeries[] {
  const merged = new Map<string, RangeSeries>();
  for (const one of series) {
    const known = merged.get(one.labels.key);
    const samples = known === undefined ? one.samples : mergeTwo(known.samples, one.samples);
    merged.set(one.labels.key, { ...one, samples });
  }
  return merged.size === series.length ? series : [...merged.values()];
}

function mergeTwo(a: SampleColumns, b: SampleColumns): SampleColumns {
  const count = a.count + b.count;
  const entries = [
    ...Array.from({ length: a.count }, (_, index) => ({ from: a, index })),
    ...Array.from({ length: b.count }, (_, index) => ({ from: b, index })),
  ];
  entries.sort((x, y) => (x.from.ts[x.index] as number) - (y.from.ts[y.index] as number));
  const ts = Float64Array.from(entries, ({ from, index }) => from.ts[index] as number);
  for (let index = 1; index < count; index += 1) {
    if (ts[index] === ts[index - 1]) {
      throw new PromqlError("execution", "vector cannot contain metrics with the same labelset");
    }
  }
  return {
    count,
    ts,
    values: Float64Array.from(entries, ({ from, index }) => from.values[index] as number),
    stale: undefined,
    histograms:
      a.histograms === undefined && b.histograms === undefined
        ? undefined
        : entries.map(({ from, index }) => from.histograms?.[index]),
    startTs: undefined,
  };
}
