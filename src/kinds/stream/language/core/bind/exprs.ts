/** Makes bound expressions, with the conversions written out. */
import { isFloat, isInteger, notNull, type TypeName, widthOf } from "../data-type.ts";
import type { Constant, Expr, FunctionName } from "../expr.ts";
import { promote } from "./promote.ts";

export function literal(value: Constant, type: TypeName): Expr {
  return { kind: "literal", value, type: { name: type, nullable: value === null } };
}

export function column(index: number, type: Expr["type"]): Expr {
  return { kind: "column", index, type };
}

/** A call; NULL in, NULL out, unless `nullable` says otherwise. */
export function call(
  fn: FunctionName,
  args: readonly Expr[],
  name: TypeName,
  nullable = args.some((arg) => arg.type.nullable),
): Expr {
  return { kind: "call", fn, args, type: { name, nullable } };
}

export function branch(when: Expr, result: Expr): { readonly when: Expr; readonly then: Expr } {
  // biome-ignore lint/suspicious/noThenProperty: the word of SQL; branches are never awaited.
  return { when, then: result };
}

/** Converts by the rules of C++; constants at once where the result is exact. */
export function castTo(arg: Expr, type: TypeName): Expr {
  if (arg.type.name === type) return arg;
  if (arg.kind === "literal") {
    if (arg.value === null) return literal(null, type);
    const value = convertConstant(arg.value, arg.type.name, type);
    if (value !== undefined) return literal(value, type);
  }
  if (arg.type.name === "CHAR" && type === "VARSIZED") return call("to_text", [arg], type);
  return { kind: "cast", arg, type: { name: type, nullable: arg.type.nullable } };
}

/** `undefined` where the value is left to the engine. */
function convertConstant(value: Constant, from: TypeName, to: TypeName): Constant | undefined {
  if (isInteger(from)) {
    const integer = BigInt(value as string);
    if (isInteger(to)) {
      const bits = widthOf(to) * 8;
      return String(
        to.startsWith("U") ? BigInt.asUintN(bits, integer) : BigInt.asIntN(bits, integer),
      );
    }
    if (to === "FLOAT64") return Number(integer);
    if (to === "FLOAT32" && Number.isSafeInteger(Number(integer)))
      return Math.fround(Number(integer));
  }
  if (isFloat(from) && typeof value === "number") {
    if (to === "FLOAT32") return finite(Math.fround(value));
    if (to === "FLOAT64") return value;
  }
  if (from === "CHAR" && to === "VARSIZED") return value;
  return undefined;
}

function finite(value: number): number | undefined {
  return Number.isFinite(value) ? value : undefined;
}

/** Both in one type; `undefined` where they are no numbers. */
export function promoted(left: Expr, right: Expr): readonly [Expr, Expr, TypeName] | undefined {
  const type = promote(left.type.name, right.type.name);
  if (type === undefined) return undefined;
  return [castTo(left, type), castTo(right, type), type];
}

export const trueLiteral: Expr = { kind: "literal", value: true, type: notNull("BOOLEAN") };

/** The terms of a conjunction. */
export function conjuncts(expr: Expr): readonly Expr[] {
  if (expr.kind !== "call" || expr.fn !== "and") return [expr];
  return expr.args.flatMap(conjuncts);
}

export function conjunction(terms: readonly Expr[]): Expr | undefined {
  return balanced("and", terms);
}

/** A tree of little height, so that long lists do not nest deeply. */
export function balanced(fn: "and" | "or", terms: readonly Expr[]): Expr | undefined {
  if (terms.length <= 1) return terms[0];
  const half = terms.length >> 1;
  const left = balanced(fn, terms.slice(0, half)) as Expr;
  const right = balanced(fn, terms.slice(half)) as Expr;
  return call(fn, [left, right], "BOOLEAN");
}

/** Replaces columns; whatever `replace` gives stands in their place. */
export function mapColumns(expr: Expr, replace: (index: number, column: Expr) => Expr): Expr {
  switch (expr.kind) {
    case "column":
      return replace(expr.index, expr);
    case "literal":
      return expr;
    case "cast":
      return { ...expr, arg: mapColumns(expr.arg, replace) };
    case "call":
      return { ...expr, args: expr.args.map((arg) => mapColumns(arg, replace)) };
    case "case":
      return {
        ...expr,
        branches: expr.branches.map((one) =>
          branch(mapColumns(one.when, replace), mapColumns(one.then, replace)),
        ),
        otherwise: expr.otherwise && mapColumns(expr.otherwise, replace),
      };
  }
}

/** Adds the columns that an expression reads. */
export function columnsOf(expr: Expr, into: Set<number> = new Set()): Set<number> {
  mapColumns(expr, (index, found) => {
    into.add(index);
    return found;
  });
  return into;
}
