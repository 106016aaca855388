/** Finds selectors whose histograms need only count and sum. */
import type { Expr, VectorSelector } from "../ast.ts";
import { isTrim } from "../eval/float-operators.ts";

const statsFunctions: ReadonlySet<string> = new Set([
  "histogram_count",
  "histogram_sum",
  "histogram_avg",
]);
const bucketFunctions: ReadonlySet<string> = new Set([
  "histogram_quantile",
  "histogram_quantiles",
  "histogram_fraction",
]);

/**
 * The selectors below a function that reads only these. Not below a subquery, which finds resets
 * from the buckets, nor below anything else that reads buckets.
 */
export function histogramStatsSelectors(expr: Expr): ReadonlySet<VectorSelector> {
  const found = new Set<VectorSelector>();
  collect(expr, false, found);
  return found;
}

function collect(expr: Expr, wanted: boolean, found: Set<VectorSelector>): void {
  switch (expr.kind) {
    case "number":
    case "string":
    case "subquery":
      return;
    case "vectorSelector":
      if (wanted) found.add(expr);
      return;
    case "matrixSelector":
      if (wanted) found.add(expr.vector);
      return;
    case "unary":
    case "paren":
      collect(expr.expr, wanted, found);
      return;
    case "aggregate":
      collect(expr.expr, wanted, found);
      if (expr.param !== undefined) collect(expr.param, wanted, found);
      return;
    case "binary":
      if (isTrim(expr.op)) return;
      collect(expr.left, wanted, found);
      collect(expr.right, wanted, found);
      return;
    case "call":
      if (bucketFunctions.has(expr.name)) return;
      for (const arg of expr.args) {
        collect(arg, wanted || statsFunctions.has(expr.name), found);
      }
  }
}
