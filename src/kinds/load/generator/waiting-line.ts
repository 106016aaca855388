/**
 * Arrivals that wait for a slot, in order. A ring of numbers, because many may wait while a target
 * stalls.
 */
import { assert } from "../../../ground/kernel/errors.ts";

export interface WaitingArrival {
  readonly intendedMs: number;
  readonly operation: number;
  readonly token: number;
}

const lengthFirst = 1_024;

export class WaitingLine {
  readonly #max: number;
  #times = new Float64Array(lengthFirst);
  #operations = new Int32Array(lengthFirst);
  #tokens = new Int32Array(lengthFirst);
  #head = 0;
  #length = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get length(): number {
    return this.#length;
  }

  get firstMs(): number {
    return this.#times[this.#head] ?? Infinity;
  }

  /** Returns `false` when the line is full. */
  push(intendedMs: number, operation: number, token: number): boolean {
    if (this.#length >= this.#max) return false;
    if (this.#length === this.#times.length) this.#widen();
    const at = (this.#head + this.#length) % this.#times.length;
    this.#times[at] = intendedMs;
    this.#operations[at] = operation;
    this.#tokens[at] = token;
    this.#length += 1;
    return true;
  }

  shift(): WaitingArrival {
    assert(this.#length > 0, "somebody waits");
    const first = this.#at(0);
    this.#head = (this.#head + 1) % this.#times.length;
    this.#length -= 1;
    return first;
  }

  #at(nth: number): WaitingArrival {
    const at = (this.#head + nth) % this.#times.length;
    return {
      intendedMs: this.#times[at] ?? 0,
      operation: this.#operations[at] ?? 0,
      token: this.#tokens[at] ?? 0,
    };
  }

  /** The longest waiting first. */
  *[Symbol.iterator](): Iterator<WaitingArrival> {
    for (let nth = 0; nth < this.#length; nth += 1) yield this.#at(nth);
  }

  clear(): void {
    this.#head = 0;
    this.#length = 0;
  }

  #widen(): void {
    const length = this.#times.length * 2;
    this.#times = this.#unrolled(this.#times, new Float64Array(length));
    this.#operations = this.#unrolled(this.#operations, new Int32Array(length));
    this.#tokens = this.#unrolled(this.#tokens, new Int32Array(length));
    this.#head = 0;
  }

  #unrolled<Numbers extends Float64Array | Int32Array>(ring: Numbers, wider: Numbers): Numbers {
    wider.set(ring.subarray(this.#head), 0);
    wider.set(ring.subarray(0, this.#head), ring.length - this.#head);
    return wider;
  }
}
