/**
 * Memory that PromQL takes in a process, all its threads together. Whoever allocates says so before.
 *
 *   MB1  What all hold never exceeds `bytesMax`: whoever would is refused, and holds what it held.
 *   MB2  A query that holds more than half of it by then is too large. One that holds less meets
 *        others, and may be asked again.
 *   MB3  A thread that is gone holds nothing: each has a word of its own in the shared memory, which
 *        is cleared after its end.
 */
import { assert, OperatingError } from "../../../ground/kernel/errors.ts";
import type { HeldMemory } from "../promql/core/index.ts";

/** Threads at a time, those that are being ended included. */
const placesMax = 64;
/** In which memory is counted: all words are read when a query needs a further page. */
const pageBytes = 64 * 1024;

/** For `workerData`. */
export interface MemoryPlace {
  readonly words: SharedArrayBuffer;
  readonly bytesMax: number;
  readonly place: number;
}

/** In the process's main thread. Has a place itself, for what it holds. */
export class MemoryBudget {
  readonly bytesMax: number;
  readonly #words = new SharedArrayBuffer(placesMax * 4);
  readonly #free = Array.from({ length: placesMax - 1 }, (_, index) => index + 1);

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** For a thread; `leave` when it is gone. MB3. */
  join(): MemoryPlace {
    const place = this.#free.shift();
    assert(place !== undefined, "threads are few");
    return { words: this.#words, bytesMax: this.bytesMax, place };
  }

  leave({ place }: MemoryPlace): void {
    Atomics.store(new Int32Array(this.#words), place, 0);
    this.#free.push(place);
  }

  account(): MemoryAccount {
    return new MemoryAccount({ words: this.#words, bytesMax: this.bytesMax, place: 0 });
  }

  get heldBytes(): number {
    return sum(new Int32Array(this.#words)) * pageBytes;
  }
}

/** What one query, or one work, holds in one thread. */
export class MemoryAccount implements HeldMemory {
  readonly #words: Int32Array;
  readonly #place: number;
  readonly #bytesMax: number;
  readonly #ownBytesMax: number;
  #bytes = 0;
  #pages = 0;
  #isClosed: boolean = false;

  /** `ownBytesMax`: of this one, where it may have less than there is. */
  constructor({ words, bytesMax, place }: MemoryPlace, ownBytesMax: number = bytesMax) {
    this.#words = new Int32Array(words);
    this.#place = place;
    this.#bytesMax = bytesMax;
    this.#ownBytesMax = ownBytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  take(bytes: number): void {
    if (this.#isClosed) return; // What is still running was refused or cancelled, and ends.
    const wanted = this.#bytes + bytes;
    if (wanted > this.#ownBytesMax) throw tooLarge(wanted, `it may have ${this.#ownBytesMax}`);
    if (!this.#hold(wanted) || sum(this.#words) * pageBytes <= this.#bytesMax) return;
    this.#hold(wanted - bytes); // MB1
    const have = `all queries of the process together have ${this.#bytesMax}`;
    throw wanted > this.#bytesMax / 2 ? tooLarge(wanted, have) : meetsOthers(wanted); // MB2
  }

  give(bytes: number): void {
    if (!this.#isClosed) this.#hold(Math.max(0, this.#bytes - bytes));
  }

  /** It is over. Idempotent. */
  close(): void {
    this.give(this.#bytes);
    this.#isClosed = true;
  }

  /** Whether it has more pages than before. */
  #hold(bytes: number): boolean {
    const before = this.#pages;
    this.#bytes = bytes;
    this.#pages = Math.ceil(bytes / pageBytes);
    if (this.#pages !== before) Atomics.add(this.#words, this.#place, this.#pages - before);
    return this.#pages > before;
  }
}

function sum(words: Int32Array): number {
  let pages = 0;
  for (let index = 0; index < words.length; index += 1) pages += Atomics.load(words, index);
  return pages;
}

function tooLarge(wanted: number, have: string): OperatingError {
  const message = `the query would hold ${wanted} bytes of memory; ${have}`;
  return new OperatingError("query_too_large", "never", message, {
    hint: "Select fewer series, ask for a shorter time or a longer step, or aggregate.",
  });
}

function meetsOthers(wanted: number): OperatingError {
  const message = `other queries hold the memory of which this one needs ${wanted} bytes`;
  return new OperatingError("overloaded", "backoff", message, {
    hint: "Try again in a moment, or give the process more memory with --memory-limit.",
  });
}
