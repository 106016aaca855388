/** A clock that stands still until it is told to advance. */
import type { Clock, Timer } from "../../kernel/clock.ts";

interface Entry {
  readonly atMs: number;
  readonly fire: () => void;
}

export class ManualClock implements Clock {
  #nowMs = 0;
  #entries: Entry[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  wallMs(): number {
    return 1_700_000_000_000 + this.#nowMs;
  }

  after(delayMs: number, fire: () => void): Timer {
    const entry = { atMs: this.#nowMs + delayMs, fire };
    this.#entries.push(entry);
    return {
      cancel: () => {
        this.#entries = this.#entries.filter((other) => other !== entry);
      },
    };
  }

  /** Fires what is due, in order, and lets everything that follows from it happen. */
  async advance(byMs: number): Promise<void> {
    const untilMs = this.#nowMs + byMs;
    await settle();
    for (;;) {
      const due = this.#entries
        .filter(({ atMs }) => atMs <= untilMs)
        .sort((left, right) => left.atMs - right.atMs)[0];
      if (due === undefined) break;
      this.#entries = this.#entries.filter((other) => other !== due);
      this.#nowMs = Math.max(this.#nowMs, due.atMs);
      due.fire();
      await settle();
    }
    this.#nowMs = untilMs;
  }
}

/** A turn of the event loop: every microtask before it has run. */
export function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
