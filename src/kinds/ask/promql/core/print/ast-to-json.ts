/**
 * An expression as the tree of Prometheus's `parse_query`. Bytes that are no text become U+FFFD.
 */
import type { AtModifier, Binary, DurationExpr, Expr, VectorSelector } from "../ast.ts";
import { formatFloat } from "../format-float.ts";
import { functionSignatures } from "../functions.ts";

export function astToJson(expr: Expr): unknown {
  switch (expr.kind) {
    case "number":
      return { type: "numberLiteral", val: formatFloat(expr.value) };
    case "string":
      return { type: "stringLiteral", val: expr.value.toWellFormed() };
    case "vectorSelector":
      return { type: "vectorSelector", ...selector(expr) };
    case "matrixSelector":
      return { type: "matrixSelector", ...selector(expr.vector), ...duration("range", expr.range) };
    case "subquery":
      return {
        type: "subquery",
        expr: astToJson(expr.expr),
        ...duration("range", expr.range),
        ...duration("step", expr.step),
        ...duration("offset", expr.offset),
        ...time(expr.at),
      };
    case "call":
      return { type: "call", func: signature(expr.name), args: expr.args.map(astToJson) };
    case "aggregate":
      return {
        type: "aggregation",
        op: expr.op,
        expr: astToJson(expr.expr),
        param: expr.param === undefined ? null : astToJson(expr.param),
        grouping: expr.grouping,
        without: expr.without,
      };
    case "unary":
      return { type: "unaryExpr", op: expr.op, expr: astToJson(expr.expr) };
    case "paren":
      return { type: "parenExpr", expr: astToJson(expr.expr) };
    case "binary":
      return {
        type: "binaryExpr",
        op: expr.op,
        lhs: astToJson(expr.left),
        rhs: astToJson(expr.right),
        matching: matching(expr),
        bool: expr.returnBool,
      };
  }
}

function selector({ name, matchers, offset, at, bounds }: VectorSelector): object {
  return {
    name: name ?? "",
    ...duration("offset", offset),
    matchers: matchers.map((matcher) => ({
      name: matcher.name.toWellFormed(),
      value: matcher.value.toWellFormed(),
      type: matcher.op,
    })),
    ...time(at),
    anchored: bounds === "anchored",
    smoothed: bounds === "smoothed",
  };
}

/** A literal as milliseconds, anything else as a tree beside a 0. */
function duration(key: "range" | "step" | "offset", value: DurationExpr | undefined): object {
  const isLiteral = value === undefined || value.kind === "duration";
  return {
    [key]: value?.kind === "duration" ? value.ms : 0,
    [`${key}Expr`]: isLiteral ? null : durationTree(value),
  };
}

function durationTree(value: DurationExpr): object {
  switch (value.kind) {
    case "duration":
      return {
        type: "numberLiteral",
        val: formatFloat(value.seconds),
        duration: value.isDuration,
      };
    case "durationCall": {
      const [lhs = null, rhs = null] = value.args.map(durationTree);
      return { type: "durationExpr", op: value.name, lhs, rhs, wrapped: value.wrapped };
    }
    case "durationUnary": {
      const rhs = durationTree(value.operand);
      return { type: "durationExpr", op: value.op, lhs: null, rhs, wrapped: value.wrapped };
    }
    case "durationBinary": {
      const lhs = durationTree(value.left);
      const rhs = durationTree(value.right);
      return { type: "durationExpr", op: value.op, lhs, rhs, wrapped: value.wrapped };
    }
  }
}

function time(at: AtModifier | undefined): object {
  return {
    timestamp: at?.kind === "at" ? at.ms : null,
    startOrEnd: at === undefined || at.kind === "at" ? null : at.kind,
  };
}

function signature(name: string): object {
  const { argTypes = [], variadic = 0, returnType } = functionSignatures.get(name) ?? {};
  return { name, argTypes, variadic, returnType };
}

function matching(binary: Binary): object | null {
  if (binary.matching === undefined) return null;
  const { card, labels, on, include, fillLeft, fillRight } = binary.matching;
  const fillValues = { lhs: fillLeft ?? null, rhs: fillRight ?? null };
  return { card, labels, on, include, fillValues };
}
