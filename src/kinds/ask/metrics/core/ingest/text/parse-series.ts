/**
 * The part of a line that says which series it is about: `name{label="value",…}`, or `{"any name",…}`.
 * Prometheus's text format allows blanks almost everywhere in it; OpenMetrics nowhere.
 */
import { quoted } from "../labels-text.ts";

export type TextFormat = "openmetrics" | "prometheus";

export interface ParsedSeries {
  /** Name, value, name, value …, as they stand, the metric's name first under `__name__`. */
  readonly pairs: string[];
  /** Where the part ends. */
  readonly end: number;
}

/** What is wrong, without a line number. */
export class SeriesProblem extends Error {}

const quote = 0x22;
const backslash = 0x5c;
const newline = 0x0a;

/** Parses from `start`; never reads past the end of the line. */
export function parseSeries(text: string, start: number, format: TextFormat): ParsedSeries {
  return new SeriesScanner(text, start, format).parse();
}

/** The labels of an exemplar, from behind its `{` to behind its `}`. */
export function parseExemplarLabels(text: string, start: number): ParsedSeries {
  return new SeriesScanner(text, start, "openmetrics").parseExemplar();
}

class SeriesScanner {
  readonly #text: string;
  readonly #start: number;
  readonly #lax: boolean;
  readonly #pairs: string[] = ["__name__", ""];
  #at: number;

  constructor(text: string, start: number, format: TextFormat) {
    this.#text = text;
    this.#start = start;
    this.#at = start;
    this.#lax = format === "prometheus";
  }

  parse(): ParsedSeries {
    const name = this.#bareName(isMetricCharacter);
    this.#pairs[1] = name;
    const nameEnd = this.#at;
    this.#skipBlanks();
    if (this.#text[this.#at] === "{") {
      this.#at += 1;
      this.#labels(true);
    } else if (name === "") {
      throw this.#expected("a valid start token");
    } else {
      this.#at = nameEnd;
    }
    if (this.#pairs[1] === "")
      throw new SeriesProblem(`metric name not set while parsing: ${this.#shown()}`);
    return { pairs: this.#pairs, end: this.#at };
  }

  parseExemplar(): ParsedSeries {
    this.#labels(false);
    return { pairs: this.#pairs.slice(2), end: this.#at };
  }

  /** Until behind the `}`. */
  #labels(mayNameMetric: boolean): void {
    for (;;) {
      this.#skipBlanks();
      if (this.#take("}")) return;
      const isQuoted = this.#text[this.#at] === '"';
      const name = isQuoted ? this.#quotedText() : this.#bareName(isLabelCharacter);
      if (!isQuoted && name === "") throw this.#expected("label name");
      this.#skipBlanks();
      const next = this.#text[this.#at];
      if (isQuoted && mayNameMetric && (next === "," || next === "}")) {
        this.#nameMetric(name);
        this.#at += 1;
        if (next === "}") return;
        continue;
      }
      if (!this.#take("=")) throw this.#expected("equal");
      this.#skipBlanks();
      if (this.#text[this.#at] !== '"') throw this.#expected("label value");
      this.#pairs.push(name, this.#quotedText());
      this.#skipBlanks();
      if (this.#take(",")) continue;
      // The older format lets a comma be missing.
      if (!this.#lax && this.#text[this.#at] !== "}") throw this.#expected("comma or brace close");
    }
  }

  #nameMetric(name: string): void {
    if (this.#pairs[1] !== "") {
      throw new SeriesProblem(`metric name already set while parsing: ${this.#shown()}`);
    }
    this.#pairs[1] = name;
  }

  #bareName(isPart: (code: number, isFirst: boolean) => boolean): string {
    const start = this.#at;
    while (isPart(this.#text.charCodeAt(this.#at), this.#at === start)) this.#at += 1;
    return this.#text.slice(start, this.#at);
  }

  /** The opening quote is here. */
  #quotedText(): string {
    const text = this.#text;
    const start = this.#at + 1;
    let hasEscape = false;
    for (let at = start; ; at += 1) {
      const code = text.charCodeAt(at);
      if (code === quote) {
        this.#at = at + 1;
        const raw = text.slice(start, at);
        return hasEscape ? unescapeText(raw) : raw;
      }
      if (code === backslash) {
        hasEscape = true;
        at += 1;
        if (text.charCodeAt(at) !== newline && at < text.length) continue;
      }
      if (code === newline || at >= text.length) throw this.#expected("a closing quote");
    }
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #skipBlanks(): void {
    if (!this.#lax) return;
    while (this.#text[this.#at] === " " || this.#text[this.#at] === "\t") this.#at += 1;
  }

  #expected(what: string): SeriesProblem {
    const got = this.#text.slice(this.#at, this.#at + 1);
    const shownGot = got === "" || got === "\n" ? "the end of the line" : quoted(got);
    return new SeriesProblem(`expected ${what}, got ${shownGot} while parsing: ${this.#shown()}`);
  }

  #shown(): string {
    return quoted(
      this.#text.slice(this.#start, Math.min(this.#at + 1, this.#start + 200)).trimEnd(),
    );
  }
}

/** Other escapes stand for themselves, backslash and all. */
export function unescapeText(raw: string): string {
  return raw.replaceAll(/\\(["\\n])/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped));
}

/** Of help texts in the older format, where quotes need no escape. */
export function unescapeHelp(raw: string): string {
  return raw.replaceAll(/\\([\\n])/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped));
}

function isLabelCharacter(code: number, isFirst: boolean): boolean {
  return (
    (code >= 0x61 && code <= 0x7a) ||
    (code >= 0x41 && code <= 0x5a) ||
    code === 0x5f ||
    (code >= 0x30 && code <= 0x39 && !isFirst)
  );
}

function isMetricCharacter(code: number, isFirst: boolean): boolean {
  return isLabelCharacter(code, isFirst) || code === 0x3a;
}
