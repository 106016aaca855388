/**
 * Counts the memory that a query holds (PE22, PE28). Samples are counted like in Prometheus: a
 * float is one, a histogram as many as fill its bytes. Labels are counted in characters, columns in
 * bytes with room for every step. A query that exceeds a limit fails.
 */
import { PromqlError } from "../engine-types.ts";
import { type HeldMemory, stepBytes, unboundedMemory } from "../held-memory.ts";
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import type { Labels } from "../labels.ts";
import { type SampleColumns, type StepSeries, stepHistogram } from "../model.ts";

export interface Held {
  readonly samples: number;
  readonly labelBytes: number;
  /** The bytes of columns. */
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

  /** A node's result is held together with its inputs, then instead of them. */
  exchange(before: Held, result: Held): void {
    if (this.#held.samples + result.samples > this.#max) throw tooManySamples();
    const samples = before.samples + result.samples;
    const labelBytes = before.labelBytes + result.labelBytes;
    if (labelBytes > this.#labelBytesMax) throw tooManyLabels(this.#labelBytesMax);
    this.#memory.take(result.bytes);
    this.#memory.give(this.#held.bytes - before.bytes);
    this.#held = { samples, labelBytes, bytes: before.bytes + result.bytes };
  }

  /** Throws when there is no room for the bytes that a node is about to allocate. */
  expect(bytes: number): void {
    this.#memory.take(bytes);
    this.#memory.give(bytes); // `exchange` counts what the node then holds.
  }

  /** Counts labels that a node creates, in addition to those of its inputs. */
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

/** Columns have room for every step; mostly empty columns count a quarter of it. */
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
      count += kind === stepHistogram ? histogramSize(histograms[step] as FloatHistogram) : kind;
    }
  }
  return Math.max(count, Math.floor(room / 4));
}

/** The bytes of the columns; `samples` is the number that they count for. */
export function columnBytes(series: readonly StepSeries[], samples: number): number {
  let room = 0;
  for (const { kinds } of series) room += kinds.length;
  return room * stepBytes + Math.max(0, samples - room) * 16;
}

/** How many samples those from `from` up to `to` count as. */
export function sampleSize({ histograms }: SampleColumns, from: number, to: number): number {
  if (histograms === undefined) return to - from;
  let size = 0;
  for (let index = from; index < to; index += 1) {
    const histogram = histograms[index];
    size += histogram === undefined ? 1 : histogramSize(histogram);
  }
  return size;
}

/** Its size in Prometheus's memory, with a timestamp, in samples of 16 bytes. */
export function histogramSize(histogram: FloatHistogram): number {
  const elements =
    histogram.positiveSpans.length +
    histogram.negativeSpans.length +
    histogram.positiveBuckets.length +
    histogram.negativeBuckets.length +
    histogram.customValues.length;
  return Math.floor((176 + 8 * elements) / 16);
}
