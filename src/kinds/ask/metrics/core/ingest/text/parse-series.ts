/**
 * Parses the series of a line: `name{label="value",…}` or `{"any name",…}`. Prometheus's text
 * format allows blanks almost everywhere in it, OpenMetrics nowhere.
 */
import { quoted } from "../labels-text.ts";

export type TextFormat = "openmetrics" | "prometheus";

export interface ParsedSeries {
  /** Name, value, name, value …, in the order of the text, with `__name__` first. */
  readonly pairs: string[];
  /** The index after the series. */
  readonly end: number;
}

/** Says what is wrong, without a line number. */
export class SeriesProblem extends Error {}

const quote = 0x22;
const backslash = 0x5c;
const newline = 0x0a;

/** Parses from `start`; never reads past the end of the line. */
export function parseSeries(text: string, start: number, format: TextFormat): ParsedSeries {
  return new SeriesScanner(text, start, format).parse();
}

/** Parses the labels of an exemplar. `start` is after its `{`, the result's `end` after its `}`. */
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

  /** Reads up to and including the `}`. */
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
      // The older format allows a missing comma.
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

  /** Called at the opening quote. */
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

/** Unknown escapes are kept, including the backslash. */
export function unescapeText(raw: string): string {
  return raw.replaceAll(/\\(["\\n])/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped));
}

/** For help texts of the older format, where quotes are not escaped. */
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
