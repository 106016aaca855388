import type { RawSeries, SampleColumns } from "../core/index.ts";

/** Joins the samples of one series; those of `added` are all later. */
export function appendSeries(known: RawSeries, added: RawSeries): RawSeries {
  const parts = [known.samples, added.samples];
  const joined = <T>(column: (samples: SampleColumns) => ArrayLike<T>): T[] =>
    parts.flatMap((samples) => Array.from(column(samples)).slice(0, samples.count));
  const some = (has: (samples: SampleColumns) => boolean) => parts.some(has);
  const filled = <T>(samples: SampleColumns, value: T): T[] =>
    new Array<T>(samples.count).fill(value);
  return {
    labels: known.labels,
    samples: {
      count: known.samples.count + added.samples.count,
      ts: Float64Array.from(joined(({ ts }) => ts)),
      values: Float64Array.from(joined(({ values }) => values)),
      stale: some(({ stale }) => stale !== undefined)
        ? Uint8Array.from(joined((samples) => samples.stale ?? filled(samples, 0)))
        : undefined,
      histograms: some(({ histograms }) => histograms !== undefined)
        ? joined((samples) => samples.histograms ?? filled(samples, undefined))
        : undefined,
      startTs: some(({ startTs }) => startTs !== undefined)
        ? Float64Array.from(joined((samples) => samples.startTs ?? filled(samples, 0)))
        : undefined,
    },
  };
}
