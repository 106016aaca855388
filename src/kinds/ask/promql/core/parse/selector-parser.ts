/** A metric name and matchers in braces: `foo{a="b", "c.d"=~"e"}`. */

import { checkRegex } from "../../../../../data/regex/core/index.ts";
import type { VectorSelector } from "../ast.ts";
import { metricNameLabel } from "../labels.ts";
import type { Matcher } from "../leaf.ts";
import { unquote } from "./literals.ts";
import type { Token } from "./token.ts";
import type { TokenReader } from "./token-reader.ts";

const operators: ReadonlySet<string> = new Set(["=", "!=", "=~", "!~"]);

const expectName = { name: "label matching", expected: 'identifier or "}"' };
const expectOperator = { name: "label matching", expected: "label matching operator" };
const expectValue = { name: "label matching", expected: "string" };
const expectMore = { name: "label matching", expected: '"," or "}"' };

/** `name` was consumed; without one, the next token is a brace. */
export function parseSelector(reader: TokenReader, name: Token | undefined): VectorSelector {
  const matchers: Matcher[] = [];
  const start = (name ?? reader.peek()).start;
  let { end } = name ?? reader.peek();
  if (reader.peek().type === "{") end = parseBraces(reader, matchers);
  // After the others, like in Prometheus.
  if (name !== undefined) matchers.push({ name: metricNameLabel, op: "=", value: name.text });
  return {
    kind: "vectorSelector",
    name: name?.text,
    matchers,
    offset: undefined,
    at: undefined,
    bounds: undefined,
    position: { start, end },
  };
}

/** Returns the end of the closing brace, which a comma may precede. */
function parseBraces(reader: TokenReader, matchers: Matcher[]): number {
  reader.take();
  while (reader.peek().type !== "}") {
    matchers.push(parseMatcher(reader));
    if (reader.peek().type === ",") reader.take();
    else if (reader.peek().type !== "}") throw reader.unexpected(expectMore);
  }
  return reader.take().end;
}

function parseMatcher(reader: TokenReader): Matcher {
  const label = reader.peek();
  if (label.type !== "IDENTIFIER" && label.type !== "STRING") throw reader.unexpected(expectName);
  reader.take();
  const isQuoted = label.type === "STRING";
  const name = isQuoted ? unquote(label.text) : label.text;
  const operator = reader.peek();
  if (!operators.has(operator.type)) {
    // Quoted text alone is the metric's name.
    if (isQuoted) return { name: metricNameLabel, op: "=", value: name };
    throw reader.unexpected(expectOperator);
  }
  reader.take();
  if (reader.peek().type !== "STRING") throw reader.unexpected(expectValue);
  const quoted = reader.take();
  const value = unquote(quoted.text);
  const op = operator.type as Matcher["op"];
  const wrong = op === "=~" || op === "!~" ? checkRegex(value) : undefined;
  if (wrong !== undefined) throw reader.error({ start: label.start, end: quoted.end }, wrong);
  return { name, op, value };
}
