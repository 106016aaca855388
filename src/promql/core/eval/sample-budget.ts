/**
 * How many samples a query holds in memory, counted as Prometheus counts them: a float is one, a histogram as many as
 * would fill its bytes. Beyond the limit the query ends, before the process does.
 */
import { PromqlError } from "../engine-types.ts";
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import { type SampleColumns, type StepSeries, stepHistogram } from "../model.ts";

export class SampleBudget {
  readonly #max: number;
  #held = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get held(): number {
    return this.#held;
  }

  /** A node's result stands beside all that it was made of, and then instead of it. */
  exchange(heldBefore: number, resultCount: number): void {
    if (this.#held + resultCount > this.#max) throw tooManySamples();
    this.#held = heldBefore + resultCount;
  }
}

export function tooManySamples(): PromqlError {
  return new PromqlError(
    "execution",
    "query processing would load too many samples into memory in query execution",
  );
}

/** Columns have room for every step: where most of it is empty, the room counts, at a quarter. */
export function countSamples(series: readonly StepSeries[]): number {
  let count = 0;
  let room = 0;
  for (const { kinds, histograms } of series) {
    room += kinds.length;
    if (histograms === undefined) {
      for (let step = 0; step < kinds.length; step += 1) count += kinds[step] as number;
      continue;
    }
    for (let step = 0; step < kinds.length; step += 1) {
      const kind = kinds[step] as number;
      count += kind === stepHistogram ? histogramWeight(histograms[step] as FloatHistogram) : kind;
    }
  }
  return Math.max(count, Math.floor(room / 4));
}

export function countRangeSamples({ count, histograms }: SampleColumns): number {
  if (histograms === undefined) return count;
  let total = 0;
  for (let index = 0; index < count; index += 1) {
    const histogram = histograms[index];
    total += histogram === undefined ? 1 : histogramWeight(histogram);
  }
  return total;
}

/** Its bytes in Prometheus's memory with a timestamp, in samples of 16 bytes. */
function histogramWeight(histogram: FloatHistogram): number {
  const spans = histogram.positiveSpans.length + histogram.negativeSpans.length;
  const buckets = histogram.positiveBuckets.length + histogram.negativeBuckets.length;
  const bytes = 168 + 8 * (spans + buckets + histogram.customValues.length);
  return Math.floor((bytes + 8) / 16);
}
