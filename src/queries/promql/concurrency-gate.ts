/** So many queries at a time; a bounded number of others wait, in order of arrival. */
import { assert, OperatingError } from "../../kernel/errors.ts";

export class ConcurrencyGate {
  readonly #max: number;
  readonly #queueMax: number;
  readonly #waiting = new Set<() => void>();
  #inside = 0;

  constructor(max: number, queueMax: number) {
    this.#max = max;
    this.#queueMax = queueMax;
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  /**
   * Resolves with how to leave. Rejects with `overloaded` when too many wait already, and with the signal's reason when it
   * aborts meanwhile.
   */
  async enter(signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) throw signal.reason;
    if (this.#inside >= this.#max) await this.#wait(signal);
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
      this.#waiting.add(admit);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** The place goes to whoever waits longest. */
  #leave(): void {
    for (const admit of this.#waiting) {
      this.#waiting.delete(admit);
      admit();
      return;
    }
    this.#inside -= 1;
    assert(this.#inside >= 0, "whoever leaves was inside");
  }
}
