/**
 * The k greatest (or least) samples of one group, for all steps at once. Series come one after the
 * other, so each column is read once, in order.
 *
 * Which of several equal samples stay depends on the shape of the heap. To agree with Prometheus,
 * this is exactly the binary heap of Go's container/heap.
 */
export class TopHeaps {
  readonly #capacity: number;
  readonly #greatest: boolean;
  /** `capacity` places for every step; the first `#sizes[step]` are in use. */
  readonly #values: Float64Array;
  readonly #members: Int32Array;
  readonly #sizes: Int32Array;

  constructor(steps: number, capacity: number, greatest: boolean) {
    this.#capacity = capacity;
    this.#greatest = greatest;
    this.#values = new Float64Array(steps * capacity);
    this.#members = new Int32Array(steps * capacity);
    this.#sizes = new Int32Array(steps);
  }

  /** `k` is the number that the step wants, at most the capacity. */
  offer(step: number, k: number, value: number, member: number): void {
    const base = step * this.#capacity;
    const size = this.#sizes[step] as number;
    if (size < k) {
      this.#values[base + size] = value;
      this.#members[base + size] = member;
      this.#sizes[step] = size + 1;
      this.#up(base, size);
      return;
    }
    const worst = this.#values[base] as number;
    const better = this.#greatest ? worst < value : worst > value;
    if (!better && !(Number.isNaN(worst) && !Number.isNaN(value))) return;
    this.#values[base] = value;
    this.#members[base] = member;
    this.#down(base, size);
  }

  /** The members kept at a step, best first. */
  best(step: number): number[] {
    const base = step * this.#capacity;
    const size = this.#sizes[step] as number;
    const places = Array.from({ length: size }, (_, index) => base + index);
    places.sort((a, b) => {
      if (this.#less(b, a)) return this.#less(a, b) ? 0 : -1;
      return this.#less(a, b) ? 1 : 0;
    });
    return places.map((place) => this.#members[place] as number);
  }

  /** Visits every member kept at the step, in no order. */
  forEachMember(step: number, visit: (member: number) => void): void {
    const base = step * this.#capacity;
    const size = this.#sizes[step] as number;
    for (let place = base; place < base + size; place += 1) visit(this.#members[place] as number);
  }

  #less(a: number, b: number): boolean {
    const left = this.#values[a] as number;
    if (Number.isNaN(left)) return true;
    const right = this.#values[b] as number;
    return this.#greatest ? left < right : left > right;
  }

  #up(base: number, start: number): void {
    let index = start;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#less(base + index, base + parent)) return;
      this.#swap(base + index, base + parent);
      index = parent;
    }
  }

  #down(base: number, size: number): void {
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= size) return;
      if (child + 1 < size && this.#less(base + child + 1, base + child)) child += 1;
      if (!this.#less(base + child, base + index)) return;
      this.#swap(base + index, base + child);
      index = child;
    }
  }

  #swap(a: number, b: number): void {
    const value = this.#values[a] as number;
    this.#values[a] = this.#values[b] as number;
    this.#values[b] = value;
    const member = this.#members[a] as number;
    this.#members[a] = this.#members[b] as number;
    this.#members[b] = member;
  }
}
