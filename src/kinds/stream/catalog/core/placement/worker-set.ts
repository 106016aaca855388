/** Sets of workers, which are named by their places in a list. They never change. */
export class WorkerSet {
  readonly #words: Uint32Array;
  readonly count: number;

  private constructor(words: Uint32Array) {
    this.#words = words;
    let count = 0;
    for (const word of words) count += bitsOf(word);
    this.count = count;
  }

  static of(size: number, workers: Iterable<number>): WorkerSet {
    const words = new Uint32Array((size + 31) >>> 5);
    for (const worker of workers) words[worker >>> 5] = (words[worker >>> 5] ?? 0) | bit(worker);
    return new WorkerSet(words);
  }

  static union(size: number, sets: Iterable<WorkerSet>): WorkerSet {
    const words = new Uint32Array((size + 31) >>> 5);
    for (const set of sets) {
      for (let at = 0; at < words.length; at += 1) {
        words[at] = (words[at] ?? 0) | (set.#words[at] ?? 0);
      }
    }
    return new WorkerSet(words);
  }

  has(worker: number): boolean {
    return ((this.#words[worker >>> 5] ?? 0) & bit(worker)) !== 0;
  }

  /** What is in both; itself where that is all of it. */
  and(other: WorkerSet): WorkerSet {
    const words = this.#words.map((word, at) => word & (other.#words[at] ?? 0));
    const both = new WorkerSet(words);
    return both.count === this.count ? this : both;
  }

  without(worker: number): WorkerSet {
    if (!this.has(worker)) return this;
    const words = this.#words.slice();
    words[worker >>> 5] = (words[worker >>> 5] ?? 0) & ~bit(worker);
    return new WorkerSet(words);
  }

  /** Ascending. */
  *[Symbol.iterator](): Generator<number> {
    for (const [at, word] of this.#words.entries()) {
      for (let rest = word; rest !== 0; rest &= rest - 1) {
        yield at * 32 + 31 - Math.clz32(rest & -rest);
      }
    }
  }
}

function bit(worker: number): number {
  return 1 << (worker & 31);
}

function bitsOf(word: number): number {
  let count = 0;
  for (let rest = word; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}
