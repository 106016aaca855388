/**
 * Gives each label set that a thread has met one small integer and one `Labels` object, so that
 * series of many segments are joined by comparing integers, and a matcher sees each label set once.
 * Labels are parsed on first use.
 *
 * It never forgets: its owner drops it, with every `SeriesTable` made with it, when `size` is too
 * large.
 */
import {
  compileMatchers,
  type Labels,
  type Matcher,
  matcherSetKey,
} from "../../promql/core/index.ts";
import { labelsJson, parseLabelsJson } from "../core/labels-json.ts";

/** How many matcher sets have their results kept. */
const verdictSetsMax = 64;

const [unknown, no, yes] = [0, 1, 2];

export class SeriesInterner {
  readonly #ids = new Map<string, number>();
  readonly #texts: string[] = [];
  readonly #labels: (Labels | undefined)[] = [];
  readonly #verdicts = new Map<string, Verdicts>();

  get size(): number {
    return this.#texts.length;
  }

  /** `text` is the labels' JSON as `labelsJson` writes it. */
  intern(text: string): number {
    const known = this.#ids.get(text);
    if (known !== undefined) return known;
    const id = this.#texts.length;
    this.#ids.set(text, id);
    this.#texts.push(text);
    this.#labels.push(undefined);
    return id;
  }

  internLabels(labels: Labels): number {
    const id = this.intern(labelsJson(labels));
    this.#labels[id] ??= labels;
    return id;
  }

  labelsOf(id: number): Labels {
    const known = this.#labels[id];
    if (known !== undefined) return known;
    const labels = parseLabelsJson(this.#texts[id] as string);
    this.#labels[id] = labels;
    return labels;
  }

  /** Whether labels satisfy all of the matchers; each label set is decided once. */
  matcher(matchers: readonly Matcher[]): (id: number) => boolean {
    const key = matcherSetKey(matchers);
    const verdicts = this.#verdicts.get(key) ?? new Verdicts(compileMatchers(matchers), this);
    // Moves the entry to the end, so that it is evicted last.
    this.#verdicts.delete(key);
    this.#verdicts.set(key, verdicts);
    if (this.#verdicts.size > verdictSetsMax) {
      const oldest = this.#verdicts.keys().next();
      if (oldest.done !== true) this.#verdicts.delete(oldest.value);
    }
    return (id) => verdicts.of(id);
  }
}

class Verdicts {
  readonly #matches: (labels: Labels) => boolean;
  readonly #interner: SeriesInterner;
  #known = new Uint8Array(1024);

  constructor(matches: (labels: Labels) => boolean, interner: SeriesInterner) {
    this.#matches = matches;
    this.#interner = interner;
  }

  of(id: number): boolean {
    if (id >= this.#known.length) {
      const grown = new Uint8Array(Math.max(id + 1, this.#known.length * 2));
      grown.set(this.#known);
      this.#known = grown;
    }
    const known = this.#known[id];
    if (known !== unknown) return known === yes;
    const verdict = this.#matches(this.#interner.labelsOf(id));
    this.#known[id] = verdict ? yes : no;
    return verdict;
  }
}
