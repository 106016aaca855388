/** Limits how many tasks run at once. The others wait in order of arrival. */
import { cancelled } from "./object-errors.ts";

export class Limiter {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(atOnceMax: number) {
    this.#free = atOnceMax;
  }

  /** A task that is cancelled while it waits never starts. */
  async run<T>(place: string, task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    await this.#enter(place, signal);
    try {
      return await task();
    } finally {
      this.#leave();
    }
  }

  #enter(place: string, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted === true) return Promise.reject(cancelled(place));
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        this.#waiting.delete(enter);
        reject(cancelled(place));
      };
      this.#waiting.add(enter);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next); // It takes over this slot.
    next();
  }
}
