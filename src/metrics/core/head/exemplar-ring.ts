/** Exemplars of all series, bounded per series and in all: the oldest go first. */
import type { Exemplar } from "../model.ts";

export class ExemplarRing {
  readonly #perSeriesMax: number;
  readonly #max: number;
  readonly #bySeries = new Map<string, Exemplar[]>();
  #count = 0;

  constructor(perSeriesMax: number, max: number) {
    this.#perSeriesMax = perSeriesMax;
    this.#max = max;
  }

  /** Whether it is news: not the one that came last, and not older than that. */
  add(exemplar: Exemplar): boolean {
    const { key } = exemplar.series;
    const kept = this.#bySeries.get(key) ?? [];
    const last = kept.at(-1);
    if (last !== undefined && (exemplar.ts < last.ts || isSame(last, exemplar))) return false;
    kept.push(exemplar);
    this.#count += 1;
    // What was written last is forgotten last.
    this.#bySeries.delete(key);
    this.#bySeries.set(key, kept);
    if (kept.length > this.#perSeriesMax) this.#dropFirst(key, kept);
    while (this.#count > this.#max) {
      const [oldKey, old] = this.#bySeries.entries().next().value as [string, Exemplar[]];
      this.#dropFirst(oldKey, old);
    }
    return true;
  }

  *all(): Generator<Exemplar> {
    for (const kept of this.#bySeries.values()) yield* kept;
  }

  #dropFirst(key: string, kept: Exemplar[]): void {
    kept.shift();
    this.#count -= 1;
    if (kept.length === 0) this.#bySeries.delete(key);
  }
}

function isSame(a: Exemplar, b: Exemplar): boolean {
  return a.ts === b.ts && Object.is(a.value, b.value) && a.labels.key === b.labels.key;
}
