/**
 * Exemplars of all series, in one bounded ring. The oldest is dropped first, whichever series it
 * belongs to, so that a busy series is not cut short while others are silent.
 */
import type { Exemplar } from "../model.ts";

export class ExemplarRing {
  readonly #max: number;
  /** In order of arrival; starts at `#first` once the ring is full. */
  readonly #ring: Exemplar[] = [];
  #first = 0;
  /** The last exemplar of each series, and how many the ring holds of it. */
  readonly #series = new Map<string, { last: Exemplar; count: number }>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Returns whether it was added: not if it equals the last one of its series, or is older. */
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

  /** Yields the exemplars in order of arrival. */
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
