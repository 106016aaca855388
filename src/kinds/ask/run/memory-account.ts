/**
 * What PromQL takes of its process's memory budget (QP34), before it allocates it. A take that
 * would exceed the budget is refused and leaves the account as it was. A query that would hold more
 * than half of the budget is too large; a smaller one only competes with others and can be retried.
 */
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { heldPages, type MemoryPlace, pageBytes } from "../../../ground/process/core/index.ts";
import type { HeldMemory } from "../promql/core/index.ts";

/** The memory that one query, or one work, holds in one thread. */
export class MemoryAccount implements HeldMemory {
  readonly #words: Int32Array;
  readonly #place: number;
  readonly #bytesMax: number;
  readonly #ownBytesMax: number;
  #bytes = 0;
  #pages = 0;
  #isClosed: boolean = false;

  /** `ownBytesMax` limits this account when it may hold less than the whole budget. */
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
    if (!this.#hold(wanted) || heldPages(this.#words) * pageBytes <= this.#bytesMax) return;
    this.#hold(wanted - bytes); // Refused: the account keeps what it held.
    const have = `all queries of the process together have ${this.#bytesMax}`;
    throw wanted > this.#bytesMax / 2 ? tooLarge(wanted, have) : meetsOthers(wanted);
  }

  give(bytes: number): void {
    if (!this.#isClosed) this.#hold(Math.max(0, this.#bytes - bytes));
  }

  /** Releases everything. Idempotent. */
  close(): void {
    this.give(this.#bytes);
    this.#isClosed = true;
  }

  /** Returns whether the account needs more pages than before. */
  #hold(bytes: number): boolean {
    const before = this.#pages;
    this.#bytes = bytes;
    this.#pages = Math.ceil(bytes / pageBytes);
    if (this.#pages !== before) Atomics.add(this.#words, this.#place, this.#pages - before);
    return this.#pages > before;
  }
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
