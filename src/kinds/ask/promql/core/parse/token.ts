/** The words of the language, and how messages call them. */
import { quoteStart, quoteText } from "../print/quote.ts";

export interface Token {
  /**
   * A class in capitals: DURATION, EOF, ERROR, IDENTIFIER, METRIC_IDENTIFIER, NUMBER,
   * STRING. Any other type is the token's own text, in lower case.
   */
  readonly type: string;
  /** As written; of an error, its message. */
  readonly text: string;
  /** In bytes. */
  readonly start: number;
  readonly end: number;
}

const operatorWords = ["and", "or", "unless", "atan2"];
export const aggregators: ReadonlySet<string> = new Set([
  "avg",
  "bottomk",
  "count",
  "count_values",
  "group",
  "limit_ratio",
  "limitk",
  "max",
  "min",
  "quantile",
  "stddev",
  "stdvar",
  "sum",
  "topk",
]);
const modifiers: ReadonlySet<string> = new Set([
  "anchored",
  "bool",
  "by",
  "fill",
  "fill_left",
  "fill_right",
  "group_left",
  "group_right",
  "ignoring",
  "offset",
  "on",
  "smoothed",
  "without",
]);
const preprocessors = ["start", "end", "step", "range", "max_of", "min_of"];

export const durationWords: ReadonlySet<string> = new Set(["step", "range", "max_of", "min_of"]);
export const fillWords: ReadonlySet<string> = new Set(["fill", "fill_left", "fill_right"]);
export const keywords: ReadonlySet<string> = new Set([
  ...operatorWords,
  ...aggregators,
  ...modifiers,
  ...preprocessors,
]);

/** Words that are metric names where an expression begins. */
export const metricNameTypes: ReadonlySet<string> = new Set([
  "IDENTIFIER",
  "METRIC_IDENTIFIER",
  "and",
  "or",
  "unless",
  "anchored",
  "by",
  "offset",
  "smoothed",
  "without",
  ...fillWords,
  ...preprocessors,
  ...aggregators,
]);

/** What an expression can begin with. */
export const expressionStarts: ReadonlySet<string> = new Set([
  ...["(", "{", "+", "-", "NUMBER", "DURATION", "STRING"],
  ...metricNameTypes,
]);

/** Words that are label names in `by (…)`, `on (…)` and the like: all but `without`. */
export const labelNameTypes: ReadonlySet<string> = new Set([
  "IDENTIFIER",
  "METRIC_IDENTIFIER",
  ...[...keywords].filter((word) => word !== "without"),
]);

const operators: ReadonlySet<string> = new Set([
  ...["+", "-", "*", "/", "%", "^", "==", "!=", "<", "<=", ">", ">=", "</", ">/", "=~", "!~", "@"],
  ...operatorWords,
]);

const classNames: ReadonlyMap<string, string> = new Map([
  ["DURATION", "duration"],
  ["IDENTIFIER", "identifier"],
  ["METRIC_IDENTIFIER", "metric identifier"],
  ["NUMBER", "number"],
  ["STRING", "string"],
]);

export function describeToken(token: Token): string {
  if (token.type === "EOF") return "end of input";
  const className = classNames.get(token.type);
  return className === undefined ? showToken(token) : `${className} ${showToken(token)}`;
}

function showToken({ type, text }: Token): string {
  if (type === "IDENTIFIER" || type === "METRIC_IDENTIFIER") return quoteText(text);
  if (modifiers.has(type)) return `<${text}>`;
  if (operators.has(type)) return `<op:${text}>`;
  if (aggregators.has(type)) return `<aggr:${text}>`;
  return byteLength(text) > 10 ? `${quoteStart(text, 10)}...` : quoteText(text);
}

/** Exact up to the limit it is compared with, without encoding a long text. */
function byteLength(text: string): number {
  return text.length > 10 ? text.length : new TextEncoder().encode(text).length;
}
