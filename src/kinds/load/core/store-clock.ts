/**
 * The store's clock, as a worker knows it: each answer that says the store's time bounds the
 * difference to the worker's own clock by half of the way there and back. The quickest of the
 * recent answers counts.
 */

/** Clocks drift: an older answer is dropped, unless it is the only one. */
const keptMs = 60_000;

interface Answer {
  readonly offsetMs: number;
  readonly roundTripMs: number;
  readonly atMs: number;
}

/** Immutable: `heard` returns a clock with one more answer. */
export class StoreClock {
  readonly #answers: readonly Answer[];
  readonly #best: Answer;

  private constructor(answers: readonly [Answer, ...Answer[]]) {
    this.#answers = answers;
    this.#best = answers.reduce((best, each) =>
      each.roundTripMs < best.roundTripMs ? each : best,
    );
  }

  /**
   * Built from the first answer: requested at `sentMs`, received at `receivedMs`, with the time
   * `storeMs`.
   */
  static of(sentMs: number, receivedMs: number, storeMs: number): StoreClock {
    return new StoreClock([answerOf(sentMs, receivedMs, storeMs)]);
  }

  heard(sentMs: number, receivedMs: number, storeMs: number): StoreClock {
    const recent = this.#answers.filter(({ atMs }) => receivedMs - atMs < keptMs);
    return new StoreClock([answerOf(sentMs, receivedMs, storeMs), ...recent]);
  }

  /** The store's time when the worker's clock is 0. */
  get offsetMs(): number {
    return this.#best.offsetMs;
  }

  /** The maximum error of `offsetMs`. */
  get errorMs(): number {
    return this.#best.roundTripMs / 2;
  }

  toLocalMs(storeMs: number): number {
    return storeMs - this.#best.offsetMs;
  }
}

function answerOf(sentMs: number, receivedMs: number, storeMs: number): Answer {
  return {
    offsetMs: storeMs - (sentMs + receivedMs) / 2,
    roundTripMs: receivedMs - sentMs,
    atMs: receivedMs,
  };
}
