/** One at a time, in order of arrival; whoever gives up while waiting is not run. */
import { cancelled } from "./statement-pool.ts";

export class TurnQueue {
  #last: Promise<void> = Promise.resolve();

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
      void before.then(done.resolve); // Its place is nobody's, and is passed when it comes.
      throw thrown;
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
    try {
      return await use();
    } finally {
      done.resolve();
    }
  }
}
