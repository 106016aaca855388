/** Computes what is constant where the result is exact: logic, integers, and conditions of CASE. */
import { literal, mapColumns } from "../bind/exprs.ts";
import { type IntegerType, isInteger, widthOf } from "../data-type.ts";
import type { Expr } from "../expr.ts";
import type { Plan, PlanOp } from "../plan.ts";
import { rebuild } from "./rebuild.ts";

export function foldConstants(plan: Plan): Plan {
  return rebuild(plan, (graph, { op, schema }, inputs) => {
    const folded = foldOp(op);
    const [input] = inputs;
    if (folded.kind === "filter" && isTrue(folded.predicate) && input !== undefined) {
      return input.node;
    }
    return graph.add(folded, inputs, schema);
  });
}

function foldOp(op: PlanOp): PlanOp {
  switch (op.kind) {
    case "filter":
      return { ...op, predicate: fold(op.predicate) };
    case "project":
      return { ...op, exprs: op.exprs.map(keepType) };
    case "windowJoin":
    case "intervalJoin":
    case "lookupJoin": {
      const residual = op.residual && fold(op.residual);
      return { ...op, residual: residual && isTrue(residual) ? undefined : residual };
    }
    default:
      return op;
  }
}

/** The schema of a node stays: a column that could be NULL still can. */
function keepType(expr: Expr): Expr {
  const folded = fold(expr);
  return folded.type.nullable === expr.type.nullable ? folded : expr;
}

function isTrue(expr: Expr): boolean {
  return expr.kind === "literal" && expr.value === true;
}

function isFalse(expr: Expr): boolean {
  return expr.kind === "literal" && expr.value === false;
}

export function fold(expr: Expr): Expr {
  switch (expr.kind) {
    case "column":
    case "literal":
      return expr;
    case "cast":
      return { ...expr, arg: fold(expr.arg) };
    case "case":
      return foldCase(expr);
    case "call":
      return foldCall({ ...expr, args: expr.args.map(fold) });
  }
}

function foldCase(expr: Extract<Expr, { readonly kind: "case" }>): Expr {
  const kept: Expr[] = [];
  for (const { when, then } of expr.branches) {
    const condition = fold(when);
    const isNever = condition.kind === "literal" && condition.value !== true;
    if (isNever) continue;
    if (isTrue(condition) && kept.length === 0) return fold(then);
    kept.push(condition);
  }
  if (kept.length === 0 && expr.otherwise !== undefined) return fold(expr.otherwise);
  return mapColumns(expr, (_, column) => column);
}

function foldCall(expr: Extract<Expr, { readonly kind: "call" }>): Expr {
  const [first, second] = expr.args;
  if (first === undefined) return expr;
  switch (expr.fn) {
    case "and":
      if (second === undefined) return expr;
      if (isFalse(first) || isFalse(second)) return literal(false, "BOOLEAN");
      if (isTrue(first)) return second;
      return isTrue(second) ? first : expr;
    case "or":
      if (second === undefined) return expr;
      if (isTrue(first) || isTrue(second)) return literal(true, "BOOLEAN");
      if (isFalse(first)) return second;
      return isFalse(second) ? first : expr;
    case "not":
      if (first.kind !== "literal" || typeof first.value !== "boolean") return expr;
      return literal(!first.value, "BOOLEAN");
    case "is_null":
    case "is_not_null": {
      const isNotNull = !first.type.nullable;
      const isNull = first.kind === "literal" && first.value === null;
      if (!isNotNull && !isNull) return expr;
      return literal(isNull === (expr.fn === "is_null"), "BOOLEAN");
    }
    default:
      return foldIntegers(expr);
  }
}

const comparisons: Readonly<Record<string, (left: bigint, right: bigint) => boolean>> = {
  equal: (left, right) => left === right,
  not_equal: (left, right) => left !== right,
  less: (left, right) => left < right,
  less_equal: (left, right) => left <= right,
  greater: (left, right) => left > right,
  greater_equal: (left, right) => left >= right,
};
const arithmetic: Readonly<Record<string, (left: bigint, right: bigint) => bigint>> = {
  add: (left, right) => left + right,
  subtract: (left, right) => left - right,
  multiply: (left, right) => left * right,
};

function foldIntegers(expr: Extract<Expr, { readonly kind: "call" }>): Expr {
  const values = expr.args.map((arg) => {
    if (arg.kind !== "literal" || typeof arg.value !== "string") return undefined;
    return isInteger(arg.type.name) ? BigInt(arg.value) : undefined;
  });
  const [left, right] = values;
  if (values.length !== 2 || left === undefined || right === undefined) return expr;
  const compare = comparisons[expr.fn];
  if (compare !== undefined) return literal(compare(left, right), "BOOLEAN");
  const compute = arithmetic[expr.fn];
  if (compute === undefined || !isInteger(expr.type.name)) return expr;
  return literal(String(wrap(compute(left, right), expr.type.name)), expr.type.name);
}

function wrap(value: bigint, type: IntegerType): bigint {
  const bits = widthOf(type) * 8;
  return type.startsWith("U") ? BigInt.asUintN(bits, value) : BigInt.asIntN(bits, value);
}
