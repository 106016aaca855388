/**
 * The k greatest (or least) values of a group at every step, while series come one by one.
 *
 * Prometheus keeps k samples in a heap, and which of equal ones stays depends on every sample that
 * was ever in it. So a merge of shards needs each sample that was among the best when it came. A
 * sample that was not among the best of its shard cannot be among the best of all.
 */
import { type HeldMemory, unboundedMemory } from "../held-memory.ts";
import { stepAbsent, stepFloat } from "../model.ts";

export class BestValues {
  readonly #steps: number;
  readonly #k: number;
  readonly #sign: 1 | -1;
  /**
   * How many values each step has room for: grows up to k, which may exceed the number of series.
   */
  #room = 0;
  /** For each step a heap of `#room` values, the worst first; signed so that greater is better. */
  #heaps = new Float64Array(0);
  readonly #sizes: Int32Array;
  readonly #memory: HeldMemory;

  constructor(steps: number, k: number, sign: 1 | -1, memory: HeldMemory = unboundedMemory) {
    this.#memory = memory;
    memory.take(steps * 4);
    this.#steps = steps;
    this.#k = k;
    this.#sign = sign;
    this.#sizes = new Int32Array(steps);
  }

  /** Returns whether the series is among the best at any step; `chosen` marks the steps. */
  offer(kinds: Uint8Array, values: Float64Array, chosen: Uint8Array): boolean {
    let any = false;
    for (let step = 0; step < this.#steps; step += 1) {
      const taken =
        kinds[step] === stepFloat && this.#take(step, this.#sign * (values[step] as number));
      chosen[step] = taken ? stepFloat : stepAbsent;
      if (taken) any = true;
    }
    return any;
  }

  #take(step: number, value: number): boolean {
    const size = this.#sizes[step] as number;
    if (size < this.#k) {
      if (size === this.#room) this.#grow();
      this.#sizes[step] = size + 1;
      this.#rise(step * this.#room, size, value);
      return true;
    }
    if (this.#k < 1 || !isWorse(this.#heaps[step * this.#room] as number, value)) return false;
    this.#sink(step * this.#room, size, value);
    return true;
  }

  #grow(): void {
    const room = Math.min(this.#k, Math.max(4, this.#room * 2));
    this.#memory.take(room * this.#steps * 8);
    const heaps = new Float64Array(room * this.#steps);
    for (let step = 0; step < this.#steps; step += 1) {
      const from = step * this.#room;
      heaps.set(this.#heaps.subarray(from, from + this.#room), step * room);
    }
    this.#memory.give(this.#heaps.byteLength);
    this.#room = room;
    this.#heaps = heaps;
  }

  /** Appends `value` and moves it up to its place. */
  #rise(base: number, size: number, value: number): void {
    const heaps = this.#heaps;
    let at = size;
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      if (!isWorse(value, heaps[base + parent] as number)) break;
      heaps[base + at] = heaps[base + parent] as number;
      at = parent;
    }
    heaps[base + at] = value;
  }

  /** Replaces the worst by `value` and moves it down to its place. */
  #sink(base: number, size: number, value: number): void {
    const heaps = this.#heaps;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= size) break;
      const right = child + 1;
      if (right < size && isWorse(heaps[base + right] as number, heaps[base + child] as number)) {
        child = right;
      }
      if (!isWorse(heaps[base + child] as number, value)) break;
      heaps[base + at] = heaps[base + child] as number;
      at = child;
    }
    heaps[base + at] = value;
  }
}

/** NaN is worse than every number. */
function isWorse(a: number, b: number): boolean {
  return a < b || (Number.isNaN(a) && !Number.isNaN(b));
}
