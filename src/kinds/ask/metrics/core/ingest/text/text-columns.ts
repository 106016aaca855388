/**
 * The samples of a text as columns, and when their series started: a `_created` line speaks for the samples of its
 * point, which may stand before it.
 *
 *   TC1  A sample is handed out only when no line that follows can change it, or too many wait.
 *   TC2  Columns that were handed out are never written to again.
 */
import type { Labels } from "../../../../promql/core/index.ts";
import type { StartGroup, TextSeries } from "./text-series.ts";

/** Samples in the order of their lines. Only the first `count` elements of a column mean anything. */
export interface ParsedBlock {
  readonly count: number;
  /** `TextSeries.number`. */
  readonly series: Uint32Array;
  /** Milliseconds; NaN where the line has none. */
  readonly ts: Float64Array;
  readonly values: Float64Array;
  /** 0: unknown. Absent: unknown for all. */
  readonly startTs: Float64Array | undefined;
  readonly exemplars: readonly ParsedExemplar[];
}

export interface ParsedExemplar {
  readonly series: number;
  readonly labels: Labels;
  readonly value: number;
  /** NaN: it has none. */
  readonly ts: number;
  /** Of the sample that it belongs to; NaN as there. */
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
  /** Starts of another text mean nothing for this one. */
  #generation = 0;
  /** The group of the last samples, and where they begin. */
  #runGroup: StartGroup | undefined;
  #runStart = 0;

  get count(): number {
    return this.#count;
  }

  /** Another text begins. */
  reset(): void {
    this.#generation += 1;
    this.#count = 0;
    this.#startTs = undefined;
    this.#exemplars = [];
    this.endRun();
  }

  /** No line that follows speaks for the samples so far. */
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

  /** A `_created` line: of the samples before it that belong to it, and of those to come. */
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

  /** The columns are the caller's from then on. */
  take(): ParsedBlock {
    const held = this.#runGroup === undefined ? 0 : this.#count - this.#runStart;
    const count = held <= heldBackMax ? this.#count - held : this.#count; // TC1
    const block: ParsedBlock = {
      count,
      series: this.#series,
      ts: this.#ts,
      values: this.#values,
      startTs: this.#startTs,
      exemplars: this.#exemplars,
    };
    this.#move(this.#capacity, count); // TC2
    this.#exemplars = [];
    this.#runStart = 0;
    return block;
  }

  #writeStart(index: number, startTs: number): void {
    this.#startTs ??= new Float64Array(this.#capacity);
    const ts = this.#ts[index] as number;
    this.#startTs[index] = startTs > ts ? 0 : startTs; // A series cannot start after its sample.
  }

  /** To new columns, without the first `from` samples. */
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
