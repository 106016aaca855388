import type { Expr } from "./ast.ts";
import type { Matcher } from "./leaf.ts";

/** The matchers of every selector in the expression, in the order of the text. */
export function selectorsOf(expr: Expr): (readonly Matcher[])[] {
  switch (expr.kind) {
    case "number":
    case "string":
      return [];
    case "vectorSelector":
      return [expr.matchers];
    case "matrixSelector":
      return [expr.vector.matchers];
    case "subquery":
    case "unary":
    case "paren":
      return selectorsOf(expr.expr);
    case "call":
      return expr.args.flatMap(selectorsOf);
    case "aggregate":
      return [
        ...(expr.param === undefined ? [] : selectorsOf(expr.param)),
        ...selectorsOf(expr.expr),
      ];
    case "binary":
      return [...selectorsOf(expr.left), ...selectorsOf(expr.right)];
  }
}
