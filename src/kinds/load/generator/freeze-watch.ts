/**
 * How long the generator itself did not run: its process was stopped, its machine was asleep, or
 * others had the processor. Nobody can say what the target did meanwhile. Rules: GE10 and SI6.
 */

export const freezeMsMin = 500;

export class FreezeWatch {
  #isMeasuring: boolean;
  #frozenMs = 0;
  #skipped = 0;
  /** The last freeze: nothing ran since `#ranMs`, although something was due from `#fromMs` on. */
  #ranMs = -Infinity;
  #fromMs = -Infinity;
  #toMs = -Infinity;

  constructor(isMeasuring: boolean) {
    this.#isMeasuring = isMeasuring;
  }

  /** The phase changed at `nowMs`, which may lie in the last freeze. */
  enter(nowMs: number, isMeasuring: boolean): void {
    if (isMeasuring === this.#isMeasuring) return;
    const restMs = Math.max(0, this.#toMs - Math.max(nowMs, this.#fromMs));
    this.#frozenMs += isMeasuring ? restMs : -restMs;
    this.#isMeasuring = isMeasuring;
  }

  /** Nothing has run since `ranMs`, though something was due at `fromMs`. */
  slept(ranMs: number, fromMs: number, toMs: number): void {
    if (toMs - fromMs < freezeMsMin) return;
    this.#ranMs = ranMs;
    this.#fromMs = fromMs;
    this.#toMs = toMs;
    if (this.#isMeasuring) this.#frozenMs += toMs - fromMs;
  }

  /** Notes time that passed on the wall clock only: the machine slept. */
  suspended(lengthMs: number): void {
    if (this.#isMeasuring && lengthMs >= freezeMsMin) this.#frozenMs += lengthMs;
  }

  /** Whether an arrival came due in a freeze (GE10). */
  covers(dueMs: number): boolean {
    return dueMs > this.#ranMs && dueMs < this.#toMs;
  }

  skip(isMeasured: boolean): void {
    if (isMeasured) this.#skipped += 1;
  }

  /** When the generator ran again after the last freeze. */
  get awakeMs(): number {
    return this.#toMs;
  }

  figures(): { readonly frozen_ms: number; readonly skipped: number } {
    return { frozen_ms: this.#frozenMs, skipped: this.#skipped };
  }
}
