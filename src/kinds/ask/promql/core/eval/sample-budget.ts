/**
 * What a query holds in memory. Samples are counted as Prometheus counts them: a float is one, a
 * histogram as many as would fill its bytes. Labels are counted in characters: a query can make them
 * of any length. Columns are counted in bytes, with room for every step. Beyond a limit the query
 * ends, before the process does.
 */
import { PromqlError } from "../engine-types.ts";
import { type HeldMemory, stepBytes, unboundedMemory } from "../held-memory.ts";
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import type { Labels } from "../labels.ts";
import { type SampleColumns, type StepSeries, stepHistogram } from "../model.ts";

export interface Held {
  readonly samples: number;
  readonly labelBytes: number;
  /** Of columns. */
  readonly bytes: number;
}

export class SampleBudget {
  readonly #max: number;
  readonly #labelBytesMax: number;
  readonly #memory: HeldMemory;
  #held: Held = { samples: 0, labelBytes: 0, bytes: 0 };

  constructor(max: number, labelBytesMax: number, memory: HeldMemory = unboundedMemory) {
    this.#max = max;
    this.#memory = memory;
    this.#labelBytesMax = labelBytesMax;
  }

  get held(): Held {
    return this.#held;
  }

  /**
   * A node's result stands beside all that it was made of, and then instead of it. Labels are mostly
   * those of what it was made of: new ones were counted when they were made.
   */
  exchange(before: Held, result: Held): void {
    if (this.#held.samples + result.samples > this.#max) throw tooManySamples();
    const samples = before.samples + result.samples;
    const labelBytes = before.labelBytes + result.labelBytes;
    if (labelBytes > this.#labelBytesMax) throw tooManyLabels(this.#labelBytesMax);
    this.#memory.take(result.bytes);
    this.#memory.give(this.#held.bytes - before.bytes);
    this.#held = { samples, labelBytes, bytes: before.bytes + result.bytes };
  }

  /** Throws where a node that is about to allocate so many bytes would have no room for them. */
  expect(bytes: number): void {
    this.#memory.take(bytes);
    this.#memory.give(bytes); // What it then holds is counted by `exchange`.
  }

  /** Counts labels that a node makes, one after the other, beside what they are made of. */
  readonly make = (labels: Labels): Labels => {
    this.#held = { ...this.#held, labelBytes: this.#held.labelBytes + labels.size };
    if (this.#held.labelBytes > this.#labelBytesMax) throw tooManyLabels(this.#labelBytesMax);
    return labels;
  };
}

export function tooManyLabels(labelBytesMax: number): PromqlError {
  return new PromqlError(
    "execution",
    `the query's labels take too much memory; the limit query_label_bytes is ${labelBytesMax}`,
  );
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

/** Of columns of series; `samples` is what they count for. */
export function columnBytes(series: readonly StepSeries[], samples: number): number {
  let room = 0;
  for (const { kinds } of series) room += kinds.length;
  return room * stepBytes + Math.max(0, samples - room) * 16;
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
