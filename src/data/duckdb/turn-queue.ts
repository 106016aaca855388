/**
 * Runs tasks one at a time, in order of arrival. A task that is aborted while it waits is not run.
 * A turn lasts at most `turnMsMax`: a longer task continues, and the next begins beside it.
 */
import type { Clock } from "../../ground/kernel/clock.ts";
import { cancelled } from "./statement-pool.ts";

export class TurnQueue {
  readonly #clock: Clock;
  readonly #turnMsMax: number;
  #last: Promise<void> = Promise.resolve();

  constructor(clock: Clock, turnMsMax: number) {
    this.#clock = clock;
    this.#turnMsMax = turnMsMax;
  }

  /** Rejects with `cancelled` when `signal` aborts before its turn. */
  async run<T>(signal: AbortSignal | undefined, use: () => Promise<T>): Promise<T> {
    const before = this.#last;
    const done = Promise.withResolvers<void>();
    this.#last = done.promise;
    const left = Promise.withResolvers<never>();
    left.promise.catch(() => undefined);
    const onAbort = (): void => left.reject(cancelled());
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted === true) onAbort();
    try {
      await Promise.race([before, left.promise]);
    } catch (thrown) {
      void before.then(done.resolve); // Its turn is skipped.
      throw thrown;
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
    const over = this.#clock.after(this.#turnMsMax, () => done.resolve());
    try {
      return await use();
    } finally {
      over.cancel();
      done.resolve();
    }
  }
}
