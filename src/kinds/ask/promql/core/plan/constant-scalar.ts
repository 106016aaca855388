/** The value of a scalar expression that depends on neither data nor step, or undefined. */
import type { Expr } from "../ast.ts";
import type { QueryParams } from "../engine-types.ts";
import { compare, compute, isArithmetic, isComparison } from "../eval/float-operators.ts";

export function constantScalar(expr: Expr, params: QueryParams): number | undefined {
  switch (expr.kind) {
    case "number":
      return expr.value;
    case "paren":
      return constantScalar(expr.expr, params);
    case "unary": {
      const operand = constantScalar(expr.expr, params);
      if (operand === undefined) return undefined;
      return expr.op === "-" ? -operand : operand;
    }
    case "binary": {
      const left = constantScalar(expr.left, params);
      const right = constantScalar(expr.right, params);
      if (left === undefined || right === undefined) return undefined;
      if (isArithmetic(expr.op)) return compute(expr.op, left, right);
      return isComparison(expr.op) ? Number(compare(expr.op, left, right)) : undefined;
    }
    case "call":
      if (expr.args.length > 0) return undefined;
      return expr.name === "pi" ? Math.PI : queryConstant(expr.name, params);
    default:
      return undefined;
  }
}

/** `start()`, `end()`, `range()` and `step()` of the whole query, in seconds. */
export function queryConstant(name: string, { instant, grid }: QueryParams): number | undefined {
  switch (name) {
    case "start":
      return grid.startMs / 1000;
    case "end":
      return grid.endMs / 1000;
    case "range":
      return (grid.endMs - grid.startMs) / 1000;
    case "step":
      return instant || grid.startMs === grid.endMs ? 0 : grid.stepMs / 1000;
    default:
      return undefined;
  }
}
