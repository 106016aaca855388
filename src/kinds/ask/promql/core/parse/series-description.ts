/**
 * A series of a test script: labels, then values one interval apart.
 *
 *   `metric{a="b"} 1 2+3x4 _ _x3 stale NaN {{sum:1 count:2 buckets:[1 1]}}x3`
 *   `metric{a="b"}@st -1m 0s+10sx4 _`: start timestamps relative to each sample's time
 *
 * `1x3` is four values, and `_x3` three gaps.
 */
import { readDuration } from "../durations.ts";
import { addHistograms, subHistograms } from "../histogram/combine.ts";
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import { Labels, metricNameLabel } from "../labels.ts";
import { quoteText } from "../print/quote.ts";
import { type DescribedHistogram, parseHistogram } from "./histogram-description.ts";
import { readNumber, unquote } from "./literals.ts";
import { Source } from "./source.ts";
import { TextScanner } from "./text-scanner.ts";
import { metricNameTypes } from "./token.ts";
import { TokenReader } from "./token-reader.ts";

export type DescribedValue =
  | { readonly kind: "absent" }
  | { readonly kind: "float"; readonly value: number }
  | { readonly kind: "stale" }
  | {
      readonly kind: "histogram";
      readonly histogram: FloatHistogram;
      /** Whether the script names the counter reset hint. */
      readonly hintSet: boolean;
    };

export interface SeriesDescription {
  readonly labels: Labels;
  /** Whether the values are those of an `@st` line. */
  readonly isStartTimestamps: boolean;
  readonly values: readonly DescribedValue[];
}

/** Limits the values that short repetitions can expand to. */
const valueCountMax = 5_000_000;

const absent: DescribedValue = { kind: "absent" };
const stale: DescribedValue = { kind: "stale" };

const space = /[ \t\r\n]+/y;
const unsignedNumber =
  /(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?:inf|nan)(?![A-Za-z0-9_])/iy;
const duration = /[0-9]+[a-wyzA-WYZ]*/y;

export function parseSeriesDescription(line: string): SeriesDescription {
  const scanner = new TextScanner(line);
  scanner.take(space);
  const metric = scanner.take(
    /[A-Za-z0-9_:]*(?:\{(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`|[^}"'`])*\}?)?/y,
  );
  const labels = parseLabels(metric ?? "");
  const isStartTimestamps = scanner.take(/@st(?=[ \t])/y) !== undefined;
  const values: DescribedValue[] = [];
  while (!scanner.isAtEnd) {
    if (scanner.take(space) === undefined) {
      const shown = quoteText(scanner.text[scanner.at] ?? "");
      throw scanner.error(`unexpected ${shown} in series values`);
    }
    if (scanner.isAtEnd) break;
    if (isStartTimestamps) parseStartItem(scanner, values);
    else parseItem(scanner, values);
  }
  return { labels, isStartTimestamps, values };
}

function parseItem(scanner: TextScanner, values: DescribedValue[]): void {
  if (scanner.take(/_/y) !== undefined) {
    repeat(scanner, values, takeTimes(scanner) ?? 1, () => absent);
  } else if (scanner.text.startsWith("{{", scanner.at)) {
    parseHistogramItem(scanner, values);
  } else if (scanner.take(/stale(?![A-Za-z0-9_:])/y) !== undefined) {
    repeat(scanner, values, (takeTimes(scanner) ?? 0) + 1, () => stale);
  } else {
    parseSteps(scanner, values, takeNumber);
  }
}

/** Offsets are durations. */
function parseStartItem(scanner: TextScanner, values: DescribedValue[]): void {
  if (scanner.take(/_/y) !== undefined) {
    repeat(scanner, values, takeTimes(scanner) ?? 1, () => absent);
  } else parseSteps(scanner, values, takeDuration);
}

/** Parses a value and its repetition: `1`, `1x4`, `1+2x4`, `1-2x4`. */
function parseSteps(
  scanner: TextScanner,
  values: DescribedValue[],
  take: (scanner: TextScanner) => number,
): void {
  const sign = scanner.take(/[+-]/y);
  let value = sign === "-" ? -take(scanner) : take(scanner);
  const stepSign = scanner.take(/[+-]/y);
  const size = stepSign === undefined ? 0 : take(scanner);
  const step = stepSign === "-" ? -size : size;
  const times = takeTimes(scanner);
  if (stepSign !== undefined && times === undefined) throw unexpected(scanner);
  repeat(scanner, values, (times ?? 0) + 1, () => {
    const described: DescribedValue = { kind: "float", value };
    // Added step by step, which may differ from multiplying.
    if (stepSign !== undefined) value += step;
    return described;
  });
}

function parseHistogramItem(scanner: TextScanner, values: DescribedValue[]): void {
  const base = parseHistogram(scanner);
  const sign = scanner.take(/[+-](?=\{\{)/y);
  if (sign === undefined) {
    repeat(scanner, values, (takeTimes(scanner) ?? 0) + 1, () => ({ kind: "histogram", ...base }));
    return;
  }
  const increment = parseHistogram(scanner);
  const times = takeTimes(scanner);
  if (times === undefined) throw unexpected(scanner);
  const { hintSet } = increment;
  let next: DescribedHistogram | undefined = { histogram: base.histogram, hintSet };
  repeat(scanner, values, times + 1, (isLast) => {
    const described = next as DescribedHistogram;
    if (!isLast) next = { histogram: combined(scanner, described, increment, sign), hintSet };
    return { kind: "histogram", ...described };
  });
}

function combined(
  scanner: TextScanner,
  { histogram }: DescribedHistogram,
  increment: DescribedHistogram,
  sign: string,
): FloatHistogram {
  const { schema } = histogram;
  const other = increment.histogram;
  const sum = (sign === "+" ? addHistograms : subHistograms)(histogram, other);
  if (schema > other.schema || sum === "incompatible") {
    const schemas = `from schema ${other.schema} to ${schema}`;
    throw scanner.error(`error combining histograms: cannot merge ${schemas}`);
  }
  return sum.result;
}

function repeat(
  scanner: TextScanner,
  values: DescribedValue[],
  count: number,
  make: (isLast: boolean) => DescribedValue,
): void {
  if (values.length + count > valueCountMax) {
    throw scanner.error(`more than ${valueCountMax} values in a series`);
  }
  for (let index = 0; index < count; index += 1) values.push(make(index === count - 1));
}

/** Parses `x4`; undefined when there is none. */
function takeTimes(scanner: TextScanner): number | undefined {
  if (scanner.take(/x/y) === undefined) return undefined;
  const count = scanner.take(/[0-9]+/y);
  if (count === undefined) throw unexpected(scanner);
  return Number(count);
}

function takeNumber(scanner: TextScanner): number {
  const start = scanner.at;
  const text = scanner.take(unsignedNumber);
  if (text === undefined) throw unexpected(scanner, ', expected number or "stale"');
  const value = readNumber(text);
  if (typeof value === "number") return value;
  throw scanner.error(value.error, start);
}

function takeDuration(scanner: TextScanner): number {
  const start = scanner.at;
  const text = scanner.take(duration);
  if (text === undefined) throw unexpected(scanner, ", expected duration");
  const ms = readDuration(text);
  if (typeof ms === "number") return ms;
  throw scanner.error(ms.error, start);
}

function unexpected(scanner: TextScanner, expected = ""): Error {
  const rest = /\S*/y;
  rest.lastIndex = scanner.at;
  const [shown = ""] = rest.exec(scanner.text) ?? [];
  const what = shown === "" ? "end of input" : quoteText(shown.slice(0, 20));
  return scanner.error(`unexpected ${what} in series values${expected}`);
}

const expectName = { name: "label set", expected: 'identifier or "}"' };
const expectEquals = { name: "label set", expected: '"="' };
const expectValue = { name: "label set", expected: "string" };
const expectMore = { name: "label set", expected: '"," or "}"' };

function parseLabels(metric: string): Labels {
  const reader = new TokenReader(new Source(metric));
  const pairs: [name: string, value: string][] = [];
  const hasName = metricNameTypes.has(reader.peek().type);
  const name = hasName ? reader.take().text : undefined;
  if (reader.peek().type === "{") {
    reader.take();
    while (reader.peek().type !== "}") {
      pairs.push(parseLabel(reader));
      if (reader.peek().type === ",") reader.take();
      else if (reader.peek().type !== "}") throw reader.unexpected(expectMore);
    }
    reader.take();
  }
  if (reader.peek().type !== "EOF")
    throw reader.unexpected({ name: "series values", expected: "" });
  if (name !== undefined) pairs.push([metricNameLabel, name]);
  return Labels.fromPairs(pairs);
}

function parseLabel(reader: TokenReader): [name: string, value: string] {
  const { type } = reader.peek();
  if (type !== "IDENTIFIER" && type !== "STRING") throw reader.unexpected(expectName);
  const { text } = reader.take();
  const name = type === "STRING" ? unquote(text) : text;
  if (reader.peek().type !== "=") {
    // Quoted text alone is the metric's name.
    if (type === "STRING") return [metricNameLabel, name];
    throw reader.unexpected(expectEquals);
  }
  reader.take();
  if (reader.peek().type !== "STRING") throw reader.unexpected(expectValue);
  return [name, unquote(reader.take().text)];
}
