/**
 * Adds `@` to every selector without one, so that the result is the same at any time. For a
 * selector in a subquery, `@` is added to the subquery.
 */
import type { AtModifier, Expr } from "../core/ast.ts";

/** Functions whose results depend on the time of the query, even with fixed arguments. */
const timeDependent = new Set([
  "days_in_month",
  "day_of_month",
  "day_of_week",
  "day_of_year",
  "end",
  "hour",
  "minute",
  "month",
  "year",
  "predict_linear",
  "range",
  "start",
  "step",
  "time",
  "timestamp",
]);

/** Undefined when no `@` makes its result independent of the time. */
export function fixTime(expr: Expr, timeMs: number): Expr | undefined {
  return dependsOnTime(expr) ? undefined : fix(expr, { kind: "at", ms: timeMs });
}

function fix(expr: Expr, at: AtModifier): Expr {
  switch (expr.kind) {
    case "vectorSelector":
      return expr.at?.kind === "at" ? expr : { ...expr, at };
    case "matrixSelector":
      return { ...expr, vector: fix(expr.vector, at) as typeof expr.vector };
    case "subquery":
      return expr.at?.kind === "at" ? expr : { ...expr, at };
    case "call":
      return { ...expr, args: expr.args.map((arg) => fix(arg, at)) };
    case "aggregate":
      return { ...expr, expr: fix(expr.expr, at), param: expr.param && fix(expr.param, at) };
    case "unary":
    case "paren":
      return { ...expr, expr: fix(expr.expr, at) };
    case "binary":
      return { ...expr, left: fix(expr.left, at), right: fix(expr.right, at) };
    default:
      return expr;
  }
}

/** Ignores everything within a subquery, which has a fixed time already. */
function dependsOnTime(expr: Expr): boolean {
  switch (expr.kind) {
    case "call":
      return timeDependent.has(expr.name) || expr.args.some(dependsOnTime);
    case "aggregate":
      return dependsOnTime(expr.expr) || (expr.param !== undefined && dependsOnTime(expr.param));
    case "unary":
    case "paren":
      return dependsOnTime(expr.expr);
    case "binary":
      return dependsOnTime(expr.left) || dependsOnTime(expr.right);
    default:
      // Selectors, and subqueries, which get their `@` before their contents are visited.
      return false;
  }
}
