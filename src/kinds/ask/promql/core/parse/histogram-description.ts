/** A native histogram in test scripts: `{{schema:0 sum:5 count:4 buckets:[1 2 1]}}`. */
import type { CounterResetHint, FloatHistogram, Span } from "../histogram/float-histogram.ts";
import { quoteText } from "../print/quote.ts";
import { readNumber } from "./literals.ts";
import type { TextScanner } from "./text-scanner.ts";

const numberKeys = ["sum", "count", "z_bucket", "z_bucket_w"] as const;
const integerKeys = ["schema", "offset", "n_offset"] as const;
const listKeys = ["buckets", "n_buckets", "custom_values"] as const;

const space = /[ \t\r\n]*/y;
const word = /[A-Za-z_]+/y;
const number = /-?(?:[0-9][0-9_.]*(?:[eE][+-]?[0-9]+)?|(?:inf|nan)\b)/iy;
const integer = /-?[0-9]+/y;
const hint = /unknown|not_reset|reset|gauge/iy;

export interface DescribedHistogram {
  readonly histogram: FloatHistogram;
  /** Whether the hint was written. Without one, the script does not expect `unknown`. */
  readonly hintSet: boolean;
}

type Description = Map<string, number | number[] | CounterResetHint>;

/** The next two characters are braces. */
export function parseHistogram(scanner: TextScanner): DescribedHistogram {
  scanner.at += 2;
  const description: Description = new Map();
  for (;;) {
    scanner.take(space);
    if (scanner.take(/\}\}/y) !== undefined) return built(description);
    const start = scanner.at;
    const key = scanner.take(word)?.toLowerCase();
    if (key === undefined) {
      const shown = quoteText(scanner.text[scanner.at] ?? "");
      throw scanner.error(`histogram description incomplete unexpected: ${shown}`);
    }
    if (scanner.take(/:/y) === undefined) {
      throw scanner.error("missing `:` for histogram descriptor", start);
    }
    const value = parseValue(scanner, key, start);
    if (description.has(key)) {
      throw scanner.error(`duplicate key ${quoteText(key)} in histogram`, 0);
    }
    description.set(key, value);
  }
}

function parseValue(
  scanner: TextScanner,
  key: string,
  start: number,
): number | number[] | CounterResetHint {
  if (includes(numberKeys, key)) return parseNumber(scanner);
  if (includes(listKeys, key)) return parseList(scanner);
  if (includes(integerKeys, key)) {
    const value = scanner.take(integer);
    if (value !== undefined) return Number(value);
  } else if (key === "counter_reset_hint") {
    const value = scanner.take(hint);
    if (value !== undefined) return value.toLowerCase() as CounterResetHint;
  } else throw scanner.error(`bad histogram descriptor found: ${quoteText(key)}`, start);
  throw scanner.error(`bad value of histogram descriptor ${quoteText(key)}`);
}

function parseNumber(scanner: TextScanner): number {
  const start = scanner.at;
  const text = scanner.take(number);
  const isNegative = text?.startsWith("-") ?? false;
  const value = text === undefined ? undefined : readNumber(isNegative ? text.slice(1) : text);
  if (typeof value === "number") return isNegative ? -value : value;
  throw scanner.error(value?.error ?? "number expected in histogram description", start);
}

function parseList(scanner: TextScanner): number[] {
  const values: number[] = [];
  if (scanner.take(/\[/y) === undefined)
    throw scanner.error('"[" expected in histogram description');
  for (;;) {
    scanner.take(space);
    if (scanner.take(/\]/y) !== undefined) return values;
    values.push(parseNumber(scanner));
  }
}

function built(description: Description): DescribedHistogram {
  const numberOf = (key: string): number => (description.get(key) as number | undefined) ?? 0;
  const listOf = (key: string): number[] => (description.get(key) as number[] | undefined) ?? [];
  const spansOf = (buckets: readonly number[], offset: number): Span[] =>
    buckets.length === 0 ? [] : [{ offset, length: buckets.length }];
  const positiveBuckets = listOf("buckets");
  const negativeBuckets = listOf("n_buckets");
  const counterResetHint = description.get("counter_reset_hint") as CounterResetHint | undefined;
  return {
    histogram: {
      counterResetHint: counterResetHint ?? "unknown",
      schema: numberOf("schema"),
      zeroThreshold: numberOf("z_bucket_w"),
      zeroCount: numberOf("z_bucket"),
      count: numberOf("count"),
      sum: numberOf("sum"),
      positiveSpans: spansOf(positiveBuckets, numberOf("offset")),
      positiveBuckets,
      negativeSpans: spansOf(negativeBuckets, numberOf("n_offset")),
      negativeBuckets,
      customValues: listOf("custom_values"),
    },
    hintSet: counterResetHint !== undefined,
  };
}

function includes(keys: readonly string[], key: string): boolean {
  return keys.includes(key);
}
