/** The type of an expression's value. */
import type { Expr, ValueType } from "../ast.ts";
import { functionSignatures } from "../functions.ts";

export function typeOf(expr: Expr): ValueType {
  switch (expr.kind) {
    case "number":
      return "scalar";
    case "string":
      return "string";
    case "vectorSelector":
    case "aggregate":
      return "vector";
    case "matrixSelector":
    case "subquery":
      return "matrix";
    case "call":
      return functionSignatures.get(expr.name)?.returnType ?? "vector";
    case "paren":
    case "unary":
      return typeOf(expr.expr);
    case "binary":
      return typeOf(expr.left) === "scalar" && typeOf(expr.right) === "scalar"
        ? "scalar"
        : "vector";
  }
}
