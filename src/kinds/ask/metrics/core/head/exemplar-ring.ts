/**
 * Exemplars of all series, in one ring: there is room for so many, and the oldest go first,
 * whichever series they are of. A series that says much is not cut short while others say nothing.
 */
import type { Exemplar } from "../model.ts";

export class ExemplarRing {
  readonly #max: number;
  /** In the order of arrival, beginning at `#first` when it is full. */
  readonly #ring: Exemplar[] = [];
  #first = 0;
  /** What each series said last, and how much of it is in the ring. */
  readonly #series = new Map<string, { last: Exemplar; count: number }>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Whether it is news: not the one that came last of its series, and not older than that. */
  add(exemplar: Exemplar): boolean {
    const known = this.#series.get(exemplar.series.key);
    if (known !== undefined && (exemplar.ts < known.last.ts || isSame(known.last, exemplar))) {
      return false;
    }
    if (known === undefined) this.#series.set(exemplar.series.key, { last: exemplar, count: 1 });
    else {
      known.last = exemplar;
      known.count += 1;
    }
    this.#put(exemplar);
    return true;
  }

  /** In the order of arrival. */
  *all(): Generator<Exemplar> {
    for (let index = 0; index < this.#ring.length; index += 1) {
      yield this.#ring[(this.#first + index) % this.#ring.length] as Exemplar;
    }
  }

  #put(exemplar: Exemplar): void {
    if (this.#ring.length < this.#max) {
      this.#ring.push(exemplar);
      return;
    }
    const oldest = this.#ring[this.#first] as Exemplar;
    this.#ring[this.#first] = exemplar;
    this.#first = (this.#first + 1) % this.#max;
    const { key } = oldest.series;
    const left = this.#series.get(key);
    if (left === undefined) return;
    left.count -= 1;
    if (left.count === 0) this.#series.delete(key);
  }
}

function isSame(a: Exemplar, b: Exemplar): boolean {
  return a.ts === b.ts && Object.is(a.value, b.value) && a.labels.key === b.labels.key;
}
