/** Applies `offset`, `@`, `anchored` and `smoothed` to the selector or subquery before them. */
import type {
  AtModifier,
  DurationExpr,
  Expr,
  MatrixSelector,
  Subquery,
  VectorSelector,
} from "../ast.ts";
import { roundAwayFromZero } from "../durations.ts";
import { formatFixed } from "../format-float.ts";
import type { TokenReader } from "./token-reader.ts";

type Modifiable = VectorSelector | MatrixSelector | Subquery;

export function withOffset(reader: TokenReader, expr: Expr, offset: DurationExpr): Expr {
  const selector = modifiable(reader, expr, "offset");
  const target = selector.kind === "matrixSelector" ? selector.vector : selector;
  if (target.offset !== undefined) {
    throw reader.error(expr.position, "offset may not be set multiple times");
  }
  // A zero offset is ignored; another one may follow.
  const isNone = offset.kind === "duration" && Math.round(offset.seconds * 1e9) === 0;
  return modified(reader, selector, isNone ? {} : { offset });
}

export function withAt(reader: TokenReader, expr: Expr, at: AtModifier): Expr {
  const selector = modifiable(reader, expr, "@");
  const target = selector.kind === "matrixSelector" ? selector.vector : selector;
  if (target.at !== undefined) {
    throw reader.error(expr.position, "@ <timestamp> may not be set multiple times");
  }
  return modified(reader, selector, { at });
}

export function atTime(reader: TokenReader, expr: Expr, seconds: number): AtModifier {
  if (!(Math.abs(seconds) < 2 ** 63)) {
    const shown = formatFixed(seconds, 6);
    throw reader.error(expr.position, `timestamp out of bounds for @ modifier: ${shown}`);
  }
  return { kind: "at", ms: roundAwayFromZero(seconds * 1000) };
}

/** Does not move the end of the selector. */
export function withBounds(reader: TokenReader, expr: Expr, bounds: "anchored" | "smoothed"): Expr {
  if (expr.kind === "subquery") {
    throw reader.error(expr.position, `${bounds} modifier is not supported for subqueries`);
  }
  if (expr.kind !== "vectorSelector" && expr.kind !== "matrixSelector") {
    throw reader.error(expr.position, `${bounds} modifier not implemented`);
  }
  const target = expr.kind === "matrixSelector" ? expr.vector : expr;
  if (target.bounds !== undefined && target.bounds !== bounds) {
    throw reader.error(expr.position, "anchored and smoothed modifiers cannot be used together");
  }
  const vector = { ...target, bounds };
  return expr.kind === "matrixSelector" ? { ...expr, vector } : vector;
}

function modifiable(reader: TokenReader, expr: Expr, modifier: "offset" | "@"): Modifiable {
  if (
    expr.kind === "vectorSelector" ||
    expr.kind === "matrixSelector" ||
    expr.kind === "subquery"
  ) {
    return expr;
  }
  const what = "an instant vector selector or range vector selector or a subquery";
  throw reader.error(expr.position, `${modifier} modifier must be preceded by ${what}`);
}

function modified(
  reader: TokenReader,
  selector: Modifiable,
  change: { readonly offset?: DurationExpr } | { readonly at?: AtModifier },
): Expr {
  const position = { start: selector.position.start, end: reader.lastClosing };
  if (selector.kind === "matrixSelector") {
    return { ...selector, vector: { ...selector.vector, ...change }, position };
  }
  return { ...selector, ...change, position };
}
