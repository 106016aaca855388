/**
 * Whether everything that an expression reads goes through a rate and then an aggregation that
 * merges from shards.
 */
import type { Expr } from "../../src/kinds/ask/promql/core/index.ts";

const mergeable = new Set(["sum", "avg", "count", "min", "max", "group", "topk", "bottomk"]);
const rates = new Set(["rate", "increase", "irate"]);

/** False as well for what reads nothing. */
export function isAggregatedRate(expr: Expr): boolean {
  const found = { aggregated: 0, other: 0 };
  visit(expr, found);
  return found.aggregated > 0 && found.other === 0;
}

function visit(expr: Expr, found: { aggregated: number; other: number }): void {
  switch (expr.kind) {
    case "vectorSelector":
    case "matrixSelector":
    case "subquery":
      found.other += 1;
      return;
    case "aggregate":
      if (mergeable.has(expr.op) && isRate(inside(expr.expr)) && isConstant(expr.param)) {
        found.aggregated += 1;
        return;
      }
      visit(expr.expr, found);
      if (expr.param !== undefined) visit(expr.param, found);
      return;
    case "call":
      for (const arg of expr.args) visit(arg, found);
      return;
    case "unary":
    case "paren":
      visit(expr.expr, found);
      return;
    case "binary":
      visit(expr.left, found);
      visit(expr.right, found);
      return;
    default:
      return;
  }
}

function inside(expr: Expr): Expr {
  return expr.kind === "paren" ? inside(expr.expr) : expr;
}

function isRate(expr: Expr): boolean {
  return expr.kind === "call" && rates.has(expr.name) && expr.args[0]?.kind === "matrixSelector";
}

function isConstant(expr: Expr | undefined): boolean {
  return expr === undefined || inside(expr).kind === "number";
}
