/**
 * Parses Prometheus's text format 0.0.4 and OpenMetrics 1.0 as a stream: bytes in, columns of
 * samples out. Rules: IN5 to IN8.
 *
 * A series is recognised by its text, so that a line costs a comparison and two numbers. One parser
 * may read many texts of one source in sequence: `begin` starts the next and keeps the known
 * series.
 */
import type { Labels } from "../../../../promql/core/index.ts";
import type { MetricMetadata } from "../../model.ts";
import { type LabelLimits, labelProblem } from "../label-limits.ts";
import { quoted } from "../labels-text.ts";
import { exemplarLabels, isExemplarTooLong } from "../series-labels.ts";
import { LineError } from "./line-error.ts";
import { MetricFamilies } from "./metric-families.ts";
import { exactPowersOfTen, parseFloat64 } from "./parse-number.ts";
import {
  parseExemplarLabels,
  parseSeries,
  SeriesProblem,
  type TextFormat,
} from "./parse-series.ts";
import { type ParsedBlock, TextColumns } from "./text-columns.ts";
import {
  groupKeyOf,
  hasStarts,
  labelsOfPairs,
  type StartGroup,
  type TextSeries,
} from "./text-series.ts";
import { WholeLines } from "./whole-lines.ts";

export interface TextParserOptions {
  readonly format: TextFormat;
  /** Whether a sample without a timestamp is an error. */
  readonly timestampsRequired: boolean;
  readonly onError: "fail" | "skip";
  /** No limits when absent: a scrape checks its series when their labels are complete. */
  readonly labelLimits?: LabelLimits;
}

const problemsMax = 20;

const newline = 0x0a;
const space = 0x20;
const tab = 0x09;
const hash = 0x23;
const point = 0x2e;
const minus = 0x2d;
const brace = 0x7b;

const fatalDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

export class TextParser {
  readonly #options: TextParserOptions;
  readonly #isOpenMetrics: boolean;
  /** Known series, first by the type of their family, then by their text. */
  readonly #known = new Map<string, Map<string, TextSeries>>();
  readonly #groups = new Map<string, StartGroup>();
  readonly #series: TextSeries[] = [];
  readonly #families: MetricFamilies;
  readonly #columns = new TextColumns();
  readonly #lines: WholeLines;
  #knownOfType: Map<string, TextSeries>;
  #previous: TextSeries | undefined;
  /** The number of the line that was last started. */
  #line = 0;
  #sawEnd = false;
  #skippedCount = 0;
  readonly #problems: string[] = [];

  constructor(options: TextParserOptions) {
    this.#options = options;
    this.#isOpenMetrics = options.format === "openmetrics";
    this.#families = new MetricFamilies(options.format);
    this.#knownOfType = this.#seriesOfType("unknown");
    this.#lines = new WholeLines({
      read: (text) => this.#readText(text),
      readInvalid: () => {
        this.#line += 1;
        this.#refuse(this.#error("it is not valid UTF-8"));
      },
      refuseLong: (bytesMax) => {
        throw new LineError(this.#line + 1, `a line has more than ${bytesMax} bytes`);
      },
    });
  }

  get seriesCount(): number {
    return this.#series.length;
  }

  /** The number of remembered series and families. */
  get rememberedCount(): number {
    return this.#series.length + this.#families.count;
  }

  /** The number of samples that `take` has not returned yet. */
  get pendingCount(): number {
    return this.#columns.count;
  }

  get skippedCount(): number {
    return this.#skippedCount;
  }

  get problems(): readonly string[] {
    return this.#problems;
  }

  labelsOf(series: number): Labels {
    const known = this.#series[series];
    if (known === undefined) throw new RangeError(`no series ${series}`);
    return known.labels;
  }

  /** Starts the next text of the same source, and drops samples that were not taken. */
  begin(): void {
    this.#families.reset();
    this.#columns.reset();
    this.#lines.reset();
    this.#knownOfType = this.#seriesOfType("unknown");
    this.#previous = undefined;
    this.#line = 0;
    this.#sawEnd = false;
  }

  feed(chunk: Uint8Array): void {
    this.#lines.feed(chunk);
  }

  /** Ends the text. A last line without a line feed counts. */
  end(): void {
    this.#lines.end();
    if (this.#isOpenMetrics && !this.#sawEnd) {
      this.#refuse(new LineError(this.#line + 1, "data does not end with # EOF"));
    }
    this.#columns.endRun();
  }

  /** Returns the samples that no later line can change; after `end`, all. The caller owns them. */
  take(): ParsedBlock {
    return this.#columns.take();
  }

  /** The families that were described since the last call. */
  takeMetadata(): MetricMetadata[] {
    return this.#families.takeChanged();
  }

  #readText(text: string): void {
    for (let at = 0; at < text.length; ) {
      try {
        this.#readLines(text, at);
        return;
      } catch (thrown) {
        if (!(thrown instanceof LineError)) throw thrown;
        this.#refuse(thrown);
        at = text.indexOf("\n", this.#at) + 1;
      }
    }
  }

  #refuse(error: LineError): void {
    if (this.#options.onError === "fail") throw error;
    this.#skippedCount += 1;
    if (this.#problems.length < problemsMax) this.#problems.push(error.message);
  }

  /** The position within the current line. */
  #at = 0;

  /** The hot loop: one iteration per line. Almost every line is a sample of the expected series. */
  #readLines(text: string, start: number): void {
    let lineStart = start;
    while (lineStart < text.length) {
      this.#line += 1;
      this.#at = lineStart;
      const first = text.charCodeAt(lineStart);
      if (first === hash || first === newline || first === space || first === tab) {
        lineStart = this.#readOtherLine(text, lineStart, first);
        continue;
      }
      lineStart = this.#readSample(text, lineStart);
    }
  }

  #readSample(text: string, lineStart: number): number {
    if (this.#sawEnd) throw this.#error("unexpected data after # EOF");
    const series = this.#seriesAt(text, lineStart);
    const value = this.#readNumber(text, "expected value after metric");
    let ts = Number.NaN;
    let exemplarStart = -1;
    let at = this.#skipToNext(text);
    let code = text.charCodeAt(at);
    if (code !== newline) {
      if (this.#isOpenMetrics && code === hash) {
        exemplarStart = at;
      } else {
        ts = this.#readTimestamp(text);
        at = this.#skipToNext(text);
        code = text.charCodeAt(at);
        if (this.#isOpenMetrics && code === hash) exemplarStart = at;
        else if (code !== newline) throw this.#error("expected next entry after timestamp");
      }
    } else if (this.#options.timestampsRequired && !series.isStart) {
      throw this.#error("a sample has no timestamp");
    }
    if (exemplarStart >= 0) {
      if (this.#options.timestampsRequired && Number.isNaN(ts)) {
        throw this.#error("a sample has no timestamp");
      }
      this.#readExemplar(text, exemplarStart, series, ts);
    }
    if (series.isStart) this.#columns.setStart(series, value);
    else this.#columns.add(series, ts, value);
    return this.#at + 1;
  }

  /** Moves `#at` behind the series. */
  #seriesAt(text: string, lineStart: number): TextSeries {
    const guess = this.#previous?.next;
    const isPossible = guess !== undefined && guess.kind === this.#knownOfType;
    if (isPossible && text.slice(lineStart, lineStart + guess.text.length) === guess.text) {
      const end = lineStart + guess.text.length;
      if (this.#isSeriesEnd(text, end)) {
        this.#at = end;
        this.#previous = guess;
        return guess;
      }
    }
    const series = this.#findSeries(text, lineStart);
    if (this.#previous !== undefined) this.#previous.next = series;
    this.#previous = series;
    return series;
  }

  #findSeries(text: string, lineStart: number): TextSeries {
    const end = seriesEnd(text, lineStart);
    const isEnd = end >= 0 && this.#isSeriesEnd(text, end);
    const known = isEnd ? this.#knownOfType.get(text.slice(lineStart, end)) : undefined;
    if (known !== undefined) {
      this.#at = end;
      return known;
    }
    return this.#learnSeries(text, lineStart);
  }

  /** Whether a value follows. Blanks before braces, in the older format, take the slow path. */
  #isSeriesEnd(text: string, at: number): boolean {
    const code = text.charCodeAt(at);
    if (code !== space && code !== tab) return false;
    if (this.#isOpenMetrics) return true;
    const next = text.charCodeAt(at + 1);
    return next !== brace && next !== space && next !== tab;
  }

  #learnSeries(text: string, lineStart: number): TextSeries {
    try {
      const lineEnd = text.indexOf("\n", lineStart);
      // A copy, because a slice would keep the whole block of text alive.
      const line = fatalDecoder.decode(encoder.encode(text.slice(lineStart, lineEnd)));
      const { pairs, end } = parseSeries(line, 0, this.#options.format);
      this.#at = lineStart + end;
      const after = text.charCodeAt(this.#at);
      if (after !== space && after !== tab) throw this.#error("expected value after metric");
      return this.#addSeries(copyOf(line.slice(0, end)), pairs);
    } catch (thrown) {
      if (thrown instanceof SeriesProblem) throw this.#error(thrown.message);
      throw thrown;
    }
  }

  #addSeries(text: string, pairs: readonly string[]): TextSeries {
    const known = this.#knownOfType.get(text);
    if (known !== undefined) return known;
    const { labelLimits } = this.#options;
    const problem = labelLimits && labelProblem(pairs, labelLimits);
    if (problem !== undefined) throw this.#error(problem);
    const labels = labelsOfPairs(pairs.map(copyOf), this.#families.type);
    const isStarted = this.#isOpenMetrics && hasStarts(this.#families.type);
    const isStart = isStarted && labels.name.endsWith("_created");
    const series: TextSeries = {
      text,
      number: isStart ? -1 : this.#series.length,
      labels,
      group: isStarted ? this.#groupOf(labels) : undefined,
      isStart,
      kind: this.#knownOfType,
      next: undefined,
    };
    if (!isStart) this.#series.push(series);
    this.#knownOfType.set(text, series);
    return series;
  }

  #groupOf(labels: Labels): StartGroup {
    const key = groupKeyOf(labels, this.#families.family);
    let group = this.#groups.get(key);
    if (group === undefined) {
      group = { startTs: 0, generation: 0 };
      this.#groups.set(key, group);
    }
    return group;
  }

  /**
   * Reads from the blank at `#at`. A short number is parsed in place, and `#at` moves behind it.
   */
  #readNumber(text: string, what: string): number {
    const start = this.#tokenStart(text, what);
    let at = start;
    let code = text.charCodeAt(at);
    const isNegative = code === minus;
    if (isNegative) code = text.charCodeAt(++at);
    let digits = 0;
    let mantissa = 0;
    let pointAt = -1;
    for (;;) {
      const digit = code - 0x30;
      if (digit >= 0 && digit <= 9) {
        mantissa = mantissa * 10 + digit;
        digits += 1;
      } else if (code === point && pointAt < 0) pointAt = at;
      else break;
      code = text.charCodeAt(++at);
    }
    const isEnd = code === newline || code === space || code === tab;
    if (!isEnd || digits === 0 || digits > 15) return this.#readAnyNumber(text, start, what);
    this.#at = at;
    const fraction = pointAt < 0 ? 0 : at - pointAt - 1;
    const value = fraction === 0 ? mantissa : mantissa / (exactPowersOfTen[fraction] as number);
    return isNegative ? -value : value;
  }

  #readAnyNumber(text: string, start: number, what: string): number {
    const end = tokenEnd(text, start);
    const token = text.slice(start, end);
    const value = token === "" ? undefined : parseFloat64(token);
    if (value === undefined) {
      throw this.#error(token === "" ? what : `${what}, got ${quoted(token.slice(0, 100))}`);
    }
    this.#at = end;
    return value;
  }

  #readTimestamp(text: string): number {
    if (this.#isOpenMetrics) {
      this.#at -= 1; // Back to the blank.
      const seconds = this.#readNumber(text, "expected timestamp");
      const ms = Math.trunc(seconds * 1_000);
      if (!Number.isSafeInteger(ms)) throw this.#error(`invalid timestamp ${seconds}`);
      return ms;
    }
    let at = this.#at;
    let ts = 0;
    const start = at;
    for (;;) {
      const digit = text.charCodeAt(at) - 0x30;
      if (!(digit >= 0 && digit <= 9)) break;
      ts = ts * 10 + digit;
      at += 1;
    }
    const code = text.charCodeAt(at);
    const isEnd = code === newline || code === space || code === tab;
    if (at === start || !isEnd || !Number.isSafeInteger(ts)) {
      const got = quoted(text.slice(start, Math.min(tokenEnd(text, start), start + 100)));
      throw this.#error(`expected timestamp or new record, got ${got}`);
    }
    this.#at = at;
    return ts;
  }

  /** `at` is the position of the `#`. */
  #readExemplar(text: string, at: number, series: TextSeries, sampleTs: number): void {
    if (text.slice(at, at + 3) !== "# {") throw this.#error("expected timestamp or comment");
    let parsed: ReturnType<typeof parseExemplarLabels>;
    try {
      parsed = parseExemplarLabels(text, at + 3);
    } catch (thrown) {
      if (thrown instanceof SeriesProblem) throw this.#error(thrown.message);
      throw thrown;
    }
    this.#at = parsed.end;
    const value = this.#readNumber(text, "expected value after exemplar labels");
    let ts = Number.NaN;
    if (text.charCodeAt(this.#skipToNext(text)) !== newline) {
      ts = this.#readTimestamp(text);
      if (text.charCodeAt(this.#at) !== newline) {
        throw this.#error("expected next entry after exemplar timestamp");
      }
    }
    const labels = exemplarLabels(parsed.pairs.map(copyOf));
    if (series.isStart || isExemplarTooLong(labels)) return;
    this.#columns.addExemplar({ series: series.number, labels, value, ts, sampleTs });
  }

  /** The start of the token after the blank at `#at`. OpenMetrics allows exactly one space. */
  #tokenStart(text: string, what: string): number {
    const code = text.charCodeAt(this.#at);
    if (this.#isOpenMetrics) {
      if (code !== space) throw this.#error(what);
      return this.#at + 1;
    }
    return this.#skipToNext(text);
  }

  /** Moves `#at` to the next token of the line, or to its end. */
  #skipToNext(text: string): number {
    let at = this.#at;
    let code = text.charCodeAt(at);
    if (this.#isOpenMetrics) {
      if (code === space) at += 1;
      if (code === space && text.charCodeAt(at) === newline) {
        throw this.#error("expected timestamp or new record, got a blank");
      }
    } else {
      while (code === space || code === tab) code = text.charCodeAt(++at);
    }
    this.#at = at;
    return at;
  }

  /** Reads a line that does not begin with a series. Returns the start of the next line. */
  #readOtherLine(text: string, lineStart: number, first: number): number {
    if (this.#sawEnd) throw this.#error("unexpected data after # EOF");
    const lineEnd = text.indexOf("\n", lineStart);
    if (first === hash) {
      this.#readComment(copyOf(text.slice(lineStart, lineEnd)));
      this.#at = lineEnd;
      return lineEnd + 1;
    }
    if (this.#isOpenMetrics) throw this.#error("expected a valid start token, got a blank");
    if (first === newline) return lineEnd + 1;
    const start = this.#skipToNext(text);
    if (start === lineEnd) return lineEnd + 1;
    const code = text.charCodeAt(start);
    if (code === hash) return this.#readOtherLine(text, start, code);
    return this.#readSample(text, start);
  }

  #readComment(line: string): void {
    if (this.#isOpenMetrics && line === "# EOF") {
      this.#sawEnd = true;
      return;
    }
    try {
      this.#families.read(line);
    } catch (thrown) {
      if (thrown instanceof SeriesProblem) throw this.#error(thrown.message);
      throw thrown;
    }
    this.#knownOfType = this.#seriesOfType(this.#families.type);
    this.#columns.endRun();
  }

  /** Series are kept by type, because bounds and `_created` lines are read differently for each. */
  #seriesOfType(type: MetricMetadata["type"]): Map<string, TextSeries> {
    const kind = hasStarts(type) ? type : "other";
    let known = this.#known.get(kind);
    if (known === undefined) {
      known = new Map();
      this.#known.set(kind, known);
    }
    return known;
  }

  #error(problem: string): LineError {
    return new LineError(this.#line, problem);
  }
}

/** The first blank outside quotes and braces, for a look-up. Negative when uncertain. */
function seriesEnd(text: string, start: number): number {
  let isQuoted = false;
  let isInBraces = false;
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === newline) return -1;
    if (isQuoted) {
      if (code === 0x5c) at += 1;
      else if (code === 0x22) isQuoted = false;
    } else if (code === 0x22) isQuoted = true;
    else if (code === brace) isInBraces = true;
    else if (code === 0x7d) isInBraces = false;
    else if (!isInBraces && (code === space || code === tab)) return at;
  }
  return -1;
}

function tokenEnd(text: string, start: number): number {
  let at = start;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code === newline || code === space || code === tab || Number.isNaN(code)) return at;
    at += 1;
  }
}

/** Copies the text: a slice would keep the whole text alive. */
function copyOf(text: string): string {
  return text.length < 13 ? text : fatalDecoder.decode(encoder.encode(text));
}
