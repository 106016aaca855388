/** The words of the language, and their names in messages. */
import { quoteStart, quoteText } from "../print/quote.ts";

export interface Token {
  /**
   * DURATION, EOF, ERROR, IDENTIFIER, METRIC_IDENTIFIER, NUMBER or STRING. Any other type is the
   * token's own text in lower case.
   */
  readonly type: string;
  /** As written; the message of an error. */
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

/** Words that are metric names at the beginning of an expression. */
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

/** Tokens that can begin an expression. */
export const expressionStarts: ReadonlySet<string> = new Set([
  ...["(", "{", "+", "-", "NUMBER", "DURATION", "STRING"],
  ...metricNameTypes,
]);

/** Words that are label names in `by (…)`, `on (…)` and similar lists: all but `without`. */
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
