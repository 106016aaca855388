/** Operators between floats over whole columns, with one specialised loop for each operator. */
import type { ArithmeticOp, BinaryOp, ComparisonOp, SetOp, TrimOp } from "../ast.ts";

export function isComparison(op: BinaryOp): op is ComparisonOp {
  return op === "==" || op === "!=" || op === ">" || op === "<" || op === ">=" || op === "<=";
}

export function isTrim(op: BinaryOp): op is TrimOp {
  return op === "</" || op === ">/";
}

export function isSetOperator(op: BinaryOp): op is SetOp {
  return op === "and" || op === "or" || op === "unless";
}

/** Whether the operator computes a new value, so that the metric's name no longer fits. */
export function isArithmetic(op: BinaryOp): op is ArithmeticOp {
  return !isComparison(op) && !isTrim(op) && !isSetOperator(op);
}

/** Like Go: 1 to any power is 1, and so is -1 to an infinite one. */
export function power(base: number, exponent: number): number {
  if (base === 1) return 1;
  if (base === -1 && (exponent === Infinity || exponent === -Infinity)) return 1;
  return base ** exponent;
}

export function compute(op: ArithmeticOp, left: number, right: number): number {
  switch (op) {
    case "+":
      return left + right;
    case "-":
      return left - right;
    case "*":
      return left * right;
    case "/":
      return left / right;
    case "%":
      return left % right;
    case "^":
      return power(left, right);
    case "atan2":
      return Math.atan2(left, right);
  }
}

export function compare(op: ComparisonOp, left: number, right: number): boolean {
  switch (op) {
    case "==":
      return left === right;
    case "!=":
      return left !== right;
    case ">":
      return left > right;
    case "<":
      return left < right;
    case ">=":
      return left >= right;
    case "<=":
      return left <= right;
  }
}

/** Also computes values at steps without a sample, which nobody reads. */
export function computeColumns(
  op: ArithmeticOp,
  left: Float64Array,
  right: Float64Array,
  out: Float64Array,
): void {
  const steps = out.length;
  switch (op) {
    case "+":
      for (let i = 0; i < steps; i += 1) out[i] = (left[i] as number) + (right[i] as number);
      return;
    case "-":
      for (let i = 0; i < steps; i += 1) out[i] = (left[i] as number) - (right[i] as number);
      return;
    case "*":
      for (let i = 0; i < steps; i += 1) out[i] = (left[i] as number) * (right[i] as number);
      return;
    case "/":
      for (let i = 0; i < steps; i += 1) out[i] = (left[i] as number) / (right[i] as number);
      return;
    default:
      for (let i = 0; i < steps; i += 1) {
        out[i] = compute(op, left[i] as number, right[i] as number);
      }
  }
}

/** Writes 1 where the comparison holds, else 0. */
export function compareColumns(
  op: ComparisonOp,
  left: Float64Array,
  right: Float64Array,
  out: Uint8Array,
): void {
  const steps = out.length;
  switch (op) {
    case ">":
      for (let i = 0; i < steps; i += 1)
        out[i] = (left[i] as number) > (right[i] as number) ? 1 : 0;
      return;
    case "<":
      for (let i = 0; i < steps; i += 1)
        out[i] = (left[i] as number) < (right[i] as number) ? 1 : 0;
      return;
    case "==":
      for (let i = 0; i < steps; i += 1) out[i] = left[i] === right[i] ? 1 : 0;
      return;
    default:
      for (let i = 0; i < steps; i += 1) {
        out[i] = compare(op, left[i] as number, right[i] as number) ? 1 : 0;
      }
  }
}
