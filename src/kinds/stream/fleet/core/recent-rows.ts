/**
 * The newest rows of a stream that this process makes of itself, numbered in turn. A reader has a
 * place; what it has not read when it is overwritten is lost to it (SD81).
 */
import type { SystemRows } from "../../run/core/index.ts";

export class RecentRows {
  readonly #kept: string[] = [];
  readonly #keptMax: number;
  /** Names the series of numbers: those of another process mean nothing here. */
  readonly #series: string;
  /** How many rows there have been. */
  #count = 0;
  #more = Promise.withResolvers<void>();

  constructor(series: string, keptMax: number) {
    this.#series = series;
    this.#keptMax = keptMax;
  }

  /** The number of the next row. */
  get next(): number {
    return this.#count;
  }

  put(row: Readonly<Record<string, string | number | null>>): void {
    this.#kept.push(`${JSON.stringify(row)}\n`);
    this.#count += 1;
    if (this.#kept.length > this.#keptMax) this.#kept.shift();
    this.#more.resolve();
    this.#more = Promise.withResolvers();
  }

  /** Resolves with the next row. */
  get more(): Promise<void> {
    return this.#more.promise;
  }

  /**
   * The rows behind a place. Without a place there are none, and the answer is where now is. A
   * place of another series is before everything that is kept.
   */
  after(place: string | undefined): SystemRows {
    const at = `${this.#series}:${this.#count}`;
    if (place === undefined) return { lines: "", at };
    const [series, number] = place.split(":");
    const from = series === this.#series ? Number(number) : 0;
    const missing = this.#count - from;
    const rows = missing <= 0 ? [] : this.#kept.slice(-missing);
    return { lines: rows.join(""), at };
  }
}
