/**
 * The listeners for commits. Each runs in its own microtask: one that throws is our bug and ends
 * the process, but it never fails the transaction that has just committed.
 */
export class PokeList {
  readonly #listeners = new Set<() => void>();
  #scheduled: boolean = false;

  get size(): number {
    return this.#listeners.size;
  }

  add(listener: () => void): () => void {
    const entry = (): void => listener(); // So that one function may listen twice.
    this.#listeners.add(entry);
    return () => {
      this.#listeners.delete(entry);
    };
  }

  poke(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      for (const listener of [...this.#listeners]) listener();
    });
  }
}
