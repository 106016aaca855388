/** Reports what a thread computes to the process that may have to end it: see `WatchedThread`. */
import type { Rest } from "./pace.ts";

/**
 * Writes the number of the current request into `word`, where the starter of the thread reads it.
 */
export class Computing {
  readonly #word: Int32Array;

  constructor(word: SharedArrayBuffer) {
    this.#word = new Int32Array(word);
  }

  run<T>(number: number, act: () => T): T {
    Atomics.store(this.#word, 0, number);
    try {
      return act();
    } finally {
      Atomics.store(this.#word, 0, 0);
    }
  }

  /** Clears the word while the computation pauses, because others compute meanwhile. */
  async paced<T>(number: number, rest: Rest, act: (rest: Rest) => Promise<T>): Promise<T> {
    const resting: Rest = () => {
      const rested = rest();
      if (rested === undefined) return undefined;
      Atomics.store(this.#word, 0, 0);
      return rested.then(() => {
        Atomics.store(this.#word, 0, number);
      });
    };
    Atomics.store(this.#word, 0, number);
    try {
      return await act(resting);
    } finally {
      Atomics.store(this.#word, 0, 0);
    }
  }
}
