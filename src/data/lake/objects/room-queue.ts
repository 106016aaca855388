/**
 * A queue of waiters for room in the download cache, served in order of arrival, so that small
 * requests never starve a large one. A wait ends when there is room, when it is cancelled, or after
 * `waitMsMax`.
 */
import type { Clock } from "../../../ground/kernel/clock.ts";

/** Room may come free without notice, because artifacts share the disk. */
const lookAgainMs = 250;

interface Waiter {
  /** True when it no longer waits. */
  look(): boolean;
}

export class RoomQueue {
  readonly #clock: Clock;
  readonly #waitMsMax: number;
  readonly #waiting = new Set<Waiter>();

  constructor(clock: Clock, waitMsMax: number) {
    this.#clock = clock;
    this.#waitMsMax = waitMsMax;
  }

  /** `attempt` returns undefined while there is no room. Undefined on timeout or abort. */
  take<T>(attempt: () => T | undefined, signal: AbortSignal | undefined): Promise<T | undefined> {
    const atOnce = this.#waiting.size === 0 ? attempt() : undefined;
    if (atOnce !== undefined || signal?.aborted === true) return Promise.resolve(atOnce);
    return new Promise((resolve, reject) => {
      const end = (finish: () => void): void => {
        this.#waiting.delete(waiter);
        signal?.removeEventListener("abort", leave);
        timeout.cancel();
        again.cancel();
        finish();
      };
      const leave = (): void => {
        end(() => resolve(undefined));
        this.wake();
      };
      const waiter: Waiter = {
        look: () => {
          try {
            const taken = attempt();
            if (taken === undefined) return false;
            end(() => resolve(taken));
          } catch (thrown) {
            end(() => reject(thrown));
          }
          return true;
        },
      };
      const lookLater = (): void => {
        this.wake();
        if (this.#waiting.has(waiter)) again = this.#clock.after(lookAgainMs, lookLater);
      };
      this.#waiting.add(waiter);
      signal?.addEventListener("abort", leave, { once: true });
      const timeout = this.#clock.after(this.#waitMsMax, leave);
      let again = this.#clock.after(lookAgainMs, lookLater);
    });
  }

  /** Called when there may be room. */
  wake(): void {
    for (const waiter of this.#waiting) if (!waiter.look()) return;
  }
}
