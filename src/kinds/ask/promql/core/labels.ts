/**
 * A series' labels: name and value pairs sorted by name, without empty values. Immutable, and equal
 * exactly when the `key`s are.
 *
 * Text is ordered by its UTF-8 bytes, like in Prometheus. JavaScript compares UTF-16 units, which
 * differs beyond the basic plane.
 */
export const metricNameLabel = "__name__";

export class Labels {
  static readonly empty: Labels = new Labels([]);

  /** Name, value, name, value …, sorted by name. */
  readonly pairs: readonly string[];
  #key: string | undefined;
  /** Whether keys compare like labels: JavaScript orders surrogates differently. */
  #isKeyOrdered: boolean = false;
  #size: number | undefined;

  /** `pairs` must be sorted, without empty values. Otherwise use `fromPairs`. */
  constructor(pairs: readonly string[]) {
    this.pairs = pairs;
  }

  /** If a name occurs twice, the last value wins. */
  static fromPairs(pairs: readonly (readonly [name: string, value: string])[]): Labels {
    const byName = new Map(pairs);
    const kept = [...byName].filter(([, value]) => value !== "");
    kept.sort(([a], [b]) => compareText(a, b));
    return new Labels(kept.flat());
  }

  static of(record: Readonly<Record<string, string>>): Labels {
    return Labels.fromPairs(Object.entries(record));
  }

  /** Distinct for distinct labels, and mostly in their order: the texts with NUL between them. */
  get key(): string {
    if (this.#key === undefined) {
      this.#key = keyOf(this.pairs);
      this.#isKeyOrdered = !surrogates.test(this.#key);
    }
    return this.#key;
  }

  /** Whether the keys of these labels compare like the labels do. */
  get isKeyOrdered(): boolean {
    return this.key === "" || this.#isKeyOrdered;
  }

  /** The number of characters of all names and values; the key takes about as much again. */
  get size(): number {
    this.#size ??= this.pairs.reduce((sum, { length }) => sum + length, 0);
    return this.#size;
  }

  get count(): number {
    return this.pairs.length / 2;
  }

  get name(): string {
    return this.get(metricNameLabel);
  }

  /** Returns an empty text when the label is absent. */
  get(name: string): string {
    const { pairs } = this;
    for (let index = 0; index < pairs.length; index += 2) {
      if (pairs[index] === name) return pairs[index + 1] as string;
    }
    return "";
  }

  /** An empty value removes the label. */
  with(name: string, value: string): Labels {
    return Labels.fromPairs([...this.entries(), [name, value]]);
  }

  without(names: ReadonlySet<string>): Labels {
    return this.#filter((name) => !names.has(name));
  }

  keep(names: ReadonlySet<string>): Labels {
    return this.#filter((name) => names.has(name));
  }

  withoutName(): Labels {
    return this.#filter((name) => name !== metricNameLabel);
  }

  *entries(): Generator<[name: string, value: string]> {
    const { pairs } = this;
    for (let index = 0; index < pairs.length; index += 2) {
      yield [pairs[index] as string, pairs[index + 1] as string];
    }
  }

  toRecord(): Record<string, string> {
    return Object.fromEntries(this.entries());
  }

  #filter(keeps: (name: string) => boolean): Labels {
    const { pairs } = this;
    const kept: string[] = [];
    for (let index = 0; index < pairs.length; index += 2) {
      const name = pairs[index] as string;
      if (keeps(name)) kept.push(name, pairs[index + 1] as string);
    }
    return kept.length === pairs.length ? this : new Labels(kept);
  }
}

/** Compares the first name or value that differs, then the number of labels. */
export function compareLabels(a: Labels, b: Labels): number {
  const [left, right] = [a.key, b.key];
  if (left === right) return 0;
  if (a.isKeyOrdered && b.isKeyOrdered) return left < right ? -1 : 1;
  const shared = Math.min(a.pairs.length, b.pairs.length);
  for (let index = 0; index < shared; index += 1) {
    const order = compareText(a.pairs[index] as string, b.pairs[index] as string);
    if (order !== 0) return order;
  }
  return a.pairs.length - b.pairs.length;
}

/** Compares by UTF-8 bytes. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const shared = Math.min(a.length, b.length);
  for (let index = 0; index < shared; index += 1) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** Surrogates rank above all other units. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

const surrogates = /[\ud800-\udfff]/;

/** NUL is below every unit of the escaped texts, so that a text comes before what it begins. */
function keyOf(pairs: readonly string[]): string {
  const key = pairs.join("\0");
  const isPlain = !key.includes("\x01") && pairs.every((text) => !text.includes("\0"));
  return isPlain ? key : pairs.map(escapeLow).join("\0");
}

/** Keeps the order, without NUL. */
function escapeLow(text: string): string {
  return text.replaceAll("\x01", "\x01\x02").replaceAll("\0", "\x01\x01");
}
