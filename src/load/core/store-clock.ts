/**
 * The store's clock, as a worker knows it: each answer that says the store's time bounds the difference to the worker's own clock by
 * half of the way there and back. The best recent answer counts.
 */

/** After so long an answer of a longer way replaces a better one: clocks drift. */
const keptMs = 60_000;

export class StoreClock {
  #offsetMs: number;
  #roundTripMs: number;
  #atMs: number;

  /** An answer that was asked for at `sentMs`, came at `receivedMs` and said `storeMs`. */
  constructor(sentMs: number, receivedMs: number, storeMs: number) {
    this.#offsetMs = storeMs - (sentMs + receivedMs) / 2;
    this.#roundTripMs = receivedMs - sentMs;
    this.#atMs = receivedMs;
  }

  note(sentMs: number, receivedMs: number, storeMs: number): void {
    const roundTripMs = receivedMs - sentMs;
    if (roundTripMs > this.#roundTripMs && receivedMs - this.#atMs < keptMs) return;
    this.#offsetMs = storeMs - (sentMs + receivedMs) / 2;
    this.#roundTripMs = roundTripMs;
    this.#atMs = receivedMs;
  }

  /** The store's time when the worker's clock is 0. */
  get offsetMs(): number {
    return this.#offsetMs;
  }

  toLocalMs(storeMs: number): number {
    return storeMs - this.#offsetMs;
  }
}
