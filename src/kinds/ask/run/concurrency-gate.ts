/** Limits how many queries run at a time. A bounded number of others wait, in order of arrival. */
import type { Clock } from "../../../ground/kernel/clock.ts";
import { assert, OperatingError } from "../../../ground/kernel/errors.ts";
import type { QueueState } from "../../../ground/work/core/index.ts";

export class ConcurrencyGate {
  readonly #max: () => number;
  readonly #queueMax: number;
  readonly #clock: Clock;
  /** The arrival times of those that wait, in order. */
  readonly #waiting = new Map<() => void, number>();
  #inside = 0;

  /** `max` may change: it is called on every arrival. */
  constructor(max: number | (() => number), queueMax: number, clock: Clock) {
    this.#max = typeof max === "number" ? () => max : max;
    this.#queueMax = queueMax;
    this.#clock = clock;
  }

  waiting(): QueueState {
    const [sinceMs] = this.#waiting.values();
    const oldestAgeMs = sinceMs === undefined ? 0 : this.#clock.nowMs() - sinceMs;
    return { depth: this.#waiting.size, oldestAgeMs };
  }

  /**
   * Resolves with the function that leaves the gate. Rejects with `overloaded` when too many wait
   * already, and with the signal's reason when it aborts meanwhile.
   */
  async enter(signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) throw signal.reason;
    if (this.#inside >= this.#max()) await this.#wait(signal);
    else this.#inside += 1;
    let isInside = true;
    return () => {
      if (!isInside) return;
      isInside = false;
      this.#leave();
    };
  }

  #wait(signal: AbortSignal): Promise<void> {
    if (this.#waiting.size >= this.#queueMax) {
      const message = `${this.#inside} queries are under way, and ${this.#waiting.size} wait`;
      throw new OperatingError("overloaded", "backoff", message, {
        hint: "Try again in a moment, or add a query-api replica.",
      });
    }
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting.delete(admit);
        reject(signal.reason);
      };
      const admit = (): void => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      this.#waiting.set(admit, this.#clock.nowMs());
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** The place goes to whoever has waited longest. */
  #leave(): void {
    for (const admit of this.#waiting.keys()) {
      this.#waiting.delete(admit);
      admit();
      return;
    }
    this.#inside -= 1;
    assert(this.#inside >= 0, "whoever leaves was inside");
  }
}
