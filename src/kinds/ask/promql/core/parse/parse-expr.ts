/**
 * Entry points: parse an expression or a selector. Both throw `PromqlError` with Prometheus's
 * message.
 */
import type { Expr } from "../ast.ts";
import type { Matcher } from "../leaf.ts";
import { checkTypes } from "./check-types.ts";
import { parseSyntax } from "./expr-parser.ts";
import { parseSelector } from "./selector-parser.ts";
import { Source } from "./source.ts";
import { metricNameTypes } from "./token.ts";
import { TokenReader } from "./token-reader.ts";

export function parseExpr(text: string): Expr {
  const source = new Source(text);
  const parsed = parseSyntax(source);
  checkTypes(source, parsed);
  return parsed.expr;
}

/** Parses a selector as in `match[]`. It may match everything; the caller decides about that. */
export function parseMatchers(text: string): Matcher[] {
  const reader = new TokenReader(new Source(text));
  const { type } = reader.peek();
  if (type !== "{" && !metricNameTypes.has(type)) throw reader.unexpected();
  const name = type === "{" ? undefined : reader.take();
  const selector = parseSelector(reader, name);
  if (reader.peek().type !== "EOF") throw reader.unexpected();
  return [...selector.matchers];
}
