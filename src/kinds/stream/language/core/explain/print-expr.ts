/** Bound expressions as text for people. */
import type { Schema } from "../data-type.ts";
import type { Expr, FunctionName } from "../expr.ts";

const infix: Partial<Readonly<Record<FunctionName, string>>> = {
  add: "+",
  subtract: "-",
  multiply: "*",
  divide: "/",
  modulo: "%",
  equal: "=",
  not_equal: "!=",
  less: "<",
  less_equal: "<=",
  greater: ">",
  greater_equal: ">=",
  null_safe_equal: "<=>",
  and: "AND",
  or: "OR",
};

/** The longest text of an expression; what is longer is cut. */
const charactersMax = 400;

export function printExpr(expr: Expr, schema: Schema): string {
  const text = print(expr, schema);
  return text.length <= charactersMax ? text : `${text.slice(0, charactersMax - 1)}…`;
}

function print(expr: Expr, schema: Schema): string {
  switch (expr.kind) {
    case "column":
      return schema[expr.index]?.name ?? `#${expr.index}`;
    case "literal":
      return printLiteral(expr);
    case "cast":
      return `CAST(${print(expr.arg, schema)} AS ${expr.type.name})`;
    case "case": {
      const branches = expr.branches.map(
        ({ when, then }) => `WHEN ${print(when, schema)} THEN ${print(then, schema)}`,
      );
      const last = expr.otherwise === undefined ? "" : ` ELSE ${print(expr.otherwise, schema)}`;
      return `CASE ${branches.join(" ")}${last} END`;
    }
    case "call": {
      const args = expr.args.map((arg) => print(arg, schema));
      const symbol = infix[expr.fn];
      return symbol === undefined
        ? `${expr.fn.toUpperCase()}(${args.join(", ")})`
        : `(${args.join(` ${symbol} `)})`;
    }
  }
}

function printLiteral({ value, type }: Extract<Expr, { readonly kind: "literal" }>): string {
  if (value === null) return "NULL";
  if (type.name === "VARSIZED" || type.name === "CHAR") {
    return `'${String(value).replaceAll("'", "''")}'`;
  }
  return String(value).toUpperCase();
}
