/**
 * The samples of a text as columns, with the start times of their series. A `_created` line applies
 * to the samples of its point, which may come before it. So a sample is handed out only when no
 * later line can change it, or too many wait. Columns that were handed out are never written to
 * again.
 */
import type { Labels } from "../../../../promql/core/index.ts";
import type { StartGroup, TextSeries } from "./text-series.ts";

/** Samples in the order of their lines. Only the first `count` elements of a column are valid. */
export interface ParsedBlock {
  readonly count: number;
  /** Each element is a `TextSeries.number`. */
  readonly series: Uint32Array;
  /** In milliseconds; NaN where the line has no timestamp. */
  readonly ts: Float64Array;
  readonly values: Float64Array;
  /** 0 where unknown. Undefined when all are unknown. */
  readonly startTs: Float64Array | undefined;
  readonly exemplars: readonly ParsedExemplar[];
}

export interface ParsedExemplar {
  readonly series: number;
  readonly labels: Labels;
  readonly value: number;
  /** NaN when it has no timestamp. */
  readonly ts: number;
  /** The timestamp of its sample, or NaN. */
  readonly sampleTs: number;
}

/** How many samples are held back for a `_created` line that may follow. */
const heldBackMax = 65_536;
const capacityAtFirst = 4_096;

export class TextColumns {
  #capacity = capacityAtFirst;
  #count = 0;
  #series = new Uint32Array(capacityAtFirst);
  #ts = new Float64Array(capacityAtFirst);
  #values = new Float64Array(capacityAtFirst);
  #startTs: Float64Array | undefined;
  #exemplars: ParsedExemplar[] = [];
  /** Incremented for each text: start times of one text do not apply to another. */
  #generation = 0;
  /** The group of the last samples, and the index of the first of them. */
  #runGroup: StartGroup | undefined;
  #runStart = 0;

  get count(): number {
    return this.#count;
  }

  /** Starts another text. */
  reset(): void {
    this.#generation += 1;
    this.#count = 0;
    this.#startTs = undefined;
    this.#exemplars = [];
    this.endRun();
  }

  /** Called when no later line can apply to the samples so far. */
  endRun(): void {
    this.#runGroup = undefined;
    this.#runStart = this.#count;
  }

  add(series: TextSeries, ts: number, value: number): void {
    const index = this.#count;
    if (index === this.#capacity) this.#move(this.#capacity * 2, 0);
    this.#series[index] = series.number;
    this.#ts[index] = ts;
    this.#values[index] = value;
    this.#count = index + 1;
    const { group } = series;
    if (group !== this.#runGroup) {
      this.#runGroup = group;
      this.#runStart = index;
    }
    if (group === undefined || group.startTs === 0) return;
    if (group.generation === this.#generation) this.#writeStart(index, group.startTs);
  }

  addExemplar(exemplar: ParsedExemplar): void {
    this.#exemplars.push(exemplar);
  }

  /** Takes a `_created` line. It applies to the earlier samples of its group and to later ones. */
  setStart({ group }: TextSeries, seconds: number): void {
    const startTs = Math.trunc(seconds * 1_000);
    if (group === undefined || !Number.isSafeInteger(startTs)) return;
    group.startTs = startTs;
    group.generation = this.#generation;
    if (this.#runGroup !== group) return;
    for (let index = this.#runStart; index < this.#count; index += 1) {
      this.#writeStart(index, startTs);
    }
    this.#runStart = this.#count;
  }

  /** The caller owns the columns that are returned. */
  take(): ParsedBlock {
    const held = this.#runGroup === undefined ? 0 : this.#count - this.#runStart;
    // Held back unless too many wait.
    const count = held <= heldBackMax ? this.#count - held : this.#count;
    const block: ParsedBlock = {
      count,
      series: this.#series,
      ts: this.#ts,
      values: this.#values,
      startTs: this.#startTs,
      exemplars: this.#exemplars,
    };
    this.#move(this.#capacity, count); // To new columns: the caller owns the old ones.
    this.#exemplars = [];
    this.#runStart = 0;
    return block;
  }

  #writeStart(index: number, startTs: number): void {
    this.#startTs ??= new Float64Array(this.#capacity);
    const ts = this.#ts[index] as number;
    this.#startTs[index] = startTs > ts ? 0 : startTs; // A series cannot start after its sample.
  }

  /** Moves the samples to new columns, without the first `from`. */
  #move(capacity: number, from: number): void {
    const [count, startTs] = [this.#count, this.#startTs];
    const series = new Uint32Array(capacity);
    const ts = new Float64Array(capacity);
    const values = new Float64Array(capacity);
    series.set(this.#series.subarray(from, count));
    ts.set(this.#ts.subarray(from, count));
    values.set(this.#values.subarray(from, count));
    this.#series = series;
    this.#ts = ts;
    this.#values = values;
    this.#startTs = undefined;
    if (startTs !== undefined && count > from) {
      this.#startTs = new Float64Array(capacity);
      this.#startTs.set(startTs.subarray(from, count));
    }
    this.#capacity = capacity;
    this.#count = count - from;
  }
}
