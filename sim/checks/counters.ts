/** How often each kind of event happened. A kind that never happens was never tested. */
export type Counts = Readonly<Record<string, number>>;

export class Counters {
  readonly #counts = new Map<string, number>();

  add(name: string, by = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + by);
  }

  get(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  merge(counts: Counts): void {
    for (const [name, count] of Object.entries(counts)) this.add(name, count);
  }

  all(): Counts {
    return Object.fromEntries([...this.#counts].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }
}
