/**
 * The sessions of all keys: where each begins, when it last saw a row, and which rows it takes in.
 * A session is made of one or more parts, since a row may join two sessions that were apart: the
 * aggregates are kept by part, and parts of one session are put together when it ends. Parts have
 * dense numbers; those of ended sessions go when the table is packed.
 */
import { assert } from "../../../../../ground/kernel/errors.ts";
import type { StateReader, StateWriter } from "../tables/codec.ts";
import { type TimePair, timeBetween } from "../tables/time-pairs.ts";

const none = -1;

export class SessionTable {
  readonly #gapMs: number;
  /** For each part: the first and the last time of its session, as pairs; true for roots only. */
  #times = new Float64Array(4 * 16);
  /** For each part: its key, the next session of the key, the part that stands for its session. */
  #keyOf = new Int32Array(16);
  #next = new Int32Array(16);
  #root = new Int32Array(16);
  /** For each key: its first session, or -1. */
  #heads = new Int32Array(16).fill(none);
  partCount = 0;
  /** How many sessions have not ended. */
  liveCount = 0;
  /** Sessions by about when they end: to be looked at when the watermark gets there. */
  #due = new Map<number, number[]>();

  constructor(gapMs: number) {
    this.#gapMs = gapMs;
  }

  /** The part for a row of a key, or -1 when the row is late. */
  place(key: number, high: number, low: number, watermark: TimePair): number {
    if (key >= this.#heads.length) this.#heads = grown(this.#heads, key + 1, none);
    let found = none;
    for (let part = this.#heads[key] as number; part !== none; part = this.#next[part] as number) {
      if (!this.#reaches(part, high, low)) continue;
      if (found === none) found = part;
      else this.#join(found, part);
    }
    if (found === none) {
      if (timeBetween(watermark.high, watermark.low, high, low) >= this.#gapMs) return none;
      return this.#open(key, high, low);
    }
    this.#extend(found, high, low);
    return found;
  }

  #reaches(part: number, high: number, low: number): boolean {
    const at = 4 * part;
    const t = this.#times;
    return (
      timeBetween(high, low, t[at + 2] as number, t[at + 3] as number) < this.#gapMs &&
      timeBetween(t[at] as number, t[at + 1] as number, high, low) < this.#gapMs
    );
  }

  #open(key: number, high: number, low: number): number {
    const part = this.partCount;
    this.partCount += 1;
    if (part >= this.#keyOf.length) {
      this.#keyOf = grown(this.#keyOf, part + 1, 0);
      this.#next = grown(this.#next, part + 1, 0);
      this.#root = grown(this.#root, part + 1, 0);
      const times = new Float64Array(this.#keyOf.length * 4);
      times.set(this.#times);
      this.#times = times;
    }
    this.#keyOf[part] = key;
    this.#root[part] = part;
    this.#next[part] = this.#heads[key] as number;
    this.#heads[key] = part;
    this.#times.set([high, low, high, low], 4 * part);
    this.liveCount += 1;
    this.#enqueue(part);
    return part;
  }

  #extend(part: number, high: number, low: number): void {
    const at = 4 * part;
    const t = this.#times;
    if (timeBetween(high, low, t[at + 2] as number, t[at + 3] as number) > 0) {
      t[at + 2] = high;
      t[at + 3] = low;
    }
    if (timeBetween(high, low, t[at] as number, t[at + 1] as number) < 0) {
      t[at] = high;
      t[at + 1] = low;
    }
  }

  /** The second session becomes a part of the first. */
  #join(first: number, second: number): void {
    const t = this.#times;
    const at = 4 * second;
    this.#extend(first, t[at] as number, t[at + 1] as number);
    this.#extend(first, t[at + 2] as number, t[at + 3] as number);
    this.#unlink(second);
    this.#root[second] = first;
    this.liveCount -= 1;
  }

  #unlink(part: number): void {
    const key = this.#keyOf[part] as number;
    const after = this.#next[part] as number;
    if (this.#heads[key] === part) {
      this.#heads[key] = after;
      return;
    }
    let before = this.#heads[key] as number;
    while (this.#next[before] !== part) before = this.#next[before] as number;
    this.#next[before] = after;
  }

  /** Rounding far from 0 does not matter, since it keeps the order of times. */
  #bucketOf(high: number, low: number): number {
    return Math.floor((high * 4_294_967_296 + low) / this.#gapMs);
  }

  #enqueue(part: number): void {
    const at = 4 * part + 2;
    const last = this.#bucketOf(this.#times[at] as number, this.#times[at + 1] as number);
    const waiting = this.#due.get(last);
    if (waiting === undefined) this.#due.set(last, [part]);
    else waiting.push(part);
  }

  /** Ends the sessions that the watermark has reached the end of, and returns them. */
  end(watermark: TimePair | undefined): number[] {
    const ended: number[] = [];
    const now = watermark === undefined ? 0 : this.#bucketOf(watermark.high, watermark.low);
    const isExact = watermark !== undefined && Math.abs(watermark.high) < 1_048_576;
    for (const [bucket, parts] of [...this.#due]) {
      // A session ends a gap after its last row, which is a bucket later, unless rounding hides it.
      if (watermark !== undefined && (bucket > now || (isExact && bucket === now))) continue;
      this.#due.delete(bucket);
      for (const part of parts) {
        if (this.#root[part] !== part) continue;
        if (watermark !== undefined && !this.#isOver(part, watermark)) {
          this.#enqueue(part);
          continue;
        }
        this.#unlink(part);
        this.liveCount -= 1;
        ended.push(part);
      }
    }
    return ended;
  }

  #isOver(part: number, { high, low }: TimePair): boolean {
    const at = 4 * part + 2;
    const since = timeBetween(high, low, this.#times[at] as number, this.#times[at + 1] as number);
    return since >= this.#gapMs;
  }

  /** The number of each part's session among `sessions`; -1 for parts of others. */
  mapTo(sessions: readonly number[]): Int32Array {
    const map = new Int32Array(this.partCount).fill(none);
    for (const [i, part] of sessions.entries()) map[part] = i;
    for (let part = 0; part < this.partCount; part += 1) {
      map[part] = map[this.#rootOf(part)] as number;
    }
    return map;
  }

  #rootOf(part: number): number {
    let root = part;
    while (this.#root[root] !== root) root = this.#root[root] as number;
    return root;
  }

  keyOf(part: number): number {
    return this.#keyOf[part] as number;
  }

  first(part: number): TimePair {
    return { high: this.#times[4 * part] as number, low: this.#times[4 * part + 1] as number };
  }

  last(part: number): TimePair {
    return { high: this.#times[4 * part + 2] as number, low: this.#times[4 * part + 3] as number };
  }

  /** The sessions that have not ended. */
  live(): number[] {
    const found: number[] = [];
    for (const head of this.#heads) {
      for (let part = head; part !== none; part = this.#next[part] as number) found.push(part);
    }
    return found;
  }

  /** A table with the sessions only, in their order; `keys` says the new number of each key. */
  packed(sessions: readonly number[], keys: readonly number[]): SessionTable {
    const table = new SessionTable(this.#gapMs);
    for (const [i, part] of sessions.entries()) {
      const { high, low } = this.first(part);
      const last = this.last(part);
      const key = keys[i] as number;
      if (key >= table.#heads.length) table.#heads = grown(table.#heads, key + 1, none);
      const made = table.#open(key, last.high, last.low);
      table.#extend(made, high, low);
    }
    return table;
  }

  encode(writer: StateWriter): void {
    const live = this.live();
    assert(live.length === this.partCount, "sessions are packed before they are stored");
    writer.array(this.#keyOf.subarray(0, this.partCount));
    writer.array(this.#times.subarray(0, this.partCount * 4));
  }

  static decode(reader: StateReader, gapMs: number): SessionTable {
    const keys = reader.int32();
    const times = reader.float64();
    const table = new SessionTable(gapMs);
    for (const [part, key] of keys.entries()) {
      if (key >= table.#heads.length) table.#heads = grown(table.#heads, key + 1, none);
      const [high, low, lastHigh, lastLow] = times.subarray(4 * part, 4 * part + 4);
      const made = table.#open(key, lastHigh as number, lastLow as number);
      table.#extend(made, high as number, low as number);
    }
    return table;
  }

  get bytes(): number {
    const waiting = this.liveCount * 8;
    return this.#times.byteLength + 3 * this.#keyOf.byteLength + this.#heads.byteLength + waiting;
  }
}

function grown(
  array: Int32Array<ArrayBuffer>,
  needed: number,
  fill: number,
): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(Math.max(needed, array.length * 2)).fill(fill);
  larger.set(array);
  return larger;
}
