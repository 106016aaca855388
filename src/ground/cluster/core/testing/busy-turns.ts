/**
 * A controller whose event loop turns slowly, in virtual time: its timers fire at the beginning of
 * a turn, and whatever has come is read right after them.
 */
import type { Clock, Timer } from "../../../kernel/clock.ts";
import type { Dialer } from "../link.ts";

export class BusyTurns implements Clock {
  /** How long a turn takes. */
  turnMs = 1;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  nowMs(): number {
    return this.#clock.nowMs();
  }

  wallMs(): number {
    return this.#clock.wallMs();
  }

  after(delayMs: number, fire: () => void): Timer {
    return this.#clock.after(this.#turnAfter(delayMs) - this.nowMs(), fire);
  }

  /** `dialer`, whose frames are read once a turn. */
  reading(dialer: Dialer): Dialer {
    const readMs = 1;
    return {
      dial: (address, handlers) =>
        dialer.dial(address, {
          onFrame: (frame) => {
            const atMs = this.#turnAfter(-readMs) + readMs;
            this.#clock.after(atMs - this.nowMs(), () => handlers.onFrame(frame));
          },
          onClose: (reason) => handlers.onClose(reason),
        }),
    };
  }

  /** The first turn that begins later than that. */
  #turnAfter(delayMs: number): number {
    const earliestMs = this.nowMs() + Math.max(0, delayMs);
    return (Math.floor(earliestMs / this.turnMs) + 1) * this.turnMs;
  }
}
