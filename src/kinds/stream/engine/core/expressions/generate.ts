/** Writes the statements that compute an expression for one row. */
import { assert } from "../../../../../ground/kernel/errors.ts";
import {
  type Constant,
  DialectError,
  type Expr,
  type TypeName,
} from "../../../language/core/index.ts";
import { convert } from "./convert.ts";
import { arithmeticFunctions } from "./generate-arithmetic.ts";
import { generateHash } from "./generate-hash.ts";
import { generateCase, logicFunctions } from "./generate-logic.ts";
import { moreTextFunctions } from "./generate-more-text.ts";
import { castText, textFunctions } from "./generate-text.ts";
import { is64, wrap, zeroOf } from "./representation.ts";
import { asFixed, fixed, type Operand, type Source } from "./source.ts";

const functions = {
  ...arithmeticFunctions,
  ...logicFunctions,
  ...textFunctions,
  ...moreTextFunctions,
  hash64: generateHash,
};
const encoder = new TextEncoder();

export function generate(source: Source, expr: Expr): Operand {
  switch (expr.kind) {
    case "column":
      return column(source, expr.index, expr.type.name);
    case "literal":
      return literal(source, expr.value, expr.type.name);
    case "cast":
      return cast(source, expr);
    case "case":
      return generateCase(source, expr, generate);
    case "call": {
      const make = functions[expr.fn];
      if (make === undefined) throw new DialectError(9000, `${expr.fn} is not implemented`);
      return make(source, expr, generate);
    }
  }
}

function column(source: Source, index: number, type: TypeName): Operand {
  return source.column(index, (slot, isNull) => {
    if (type === "VARSIZED") {
      source.head.push(`const o${slot} = columns[${slot}].offsets;`);
      source.head.push(`const b${slot} = columns[${slot}].bytes;`);
      source.reads.push(`const s${slot} = o${slot}[r], e${slot} = o${slot}[r + 1];`);
      return {
        kind: "text",
        bytes: `b${slot}`,
        start: `s${slot}`,
        end: `e${slot}`,
        isNull,
      };
    }
    source.head.push(`const c${slot} = columns[${slot}].values;`);
    source.reads.push(`const v${slot} = c${slot}[r]${type === "BOOLEAN" ? " !== 0" : ""};`);
    return fixed(`v${slot}`, isNull);
  });
}

function literal(source: Source, value: Constant, type: TypeName): Operand {
  if (type === "VARSIZED") {
    const bytes = source.constant(encoder.encode(value === null ? "" : String(value)));
    const isNull = value === null ? "true" : "false";
    return { kind: "text", bytes, start: "0", end: `${bytes}.length`, isNull };
  }
  if (value === null) return fixed(zeroOf(type), "true");
  if (is64(type)) return fixed(source.constant(BigInt(value), (name) => wrap(name, type)));
  if (type === "BOOLEAN") {
    return fixed(source.constant(value === true, (name) => `${name} === true`));
  }
  const number = type === "CHAR" && typeof value === "string" ? charOf(value) : Number(value);
  return fixed(
    source.constant(number, (name) => (type === "FLOAT64" ? `+${name}` : wrap(name, type))),
  );
}

/** The byte of a CHAR, which is written as a text of one byte. */
function charOf(value: string): number {
  const [byte] = encoder.encode(value);
  assert(byte !== undefined, "a CHAR is one byte");
  return byte;
}

function cast(source: Source, expr: Extract<Expr, { readonly kind: "cast" }>): Operand {
  const operand = generate(source, expr.arg);
  const from = expr.arg.type.name;
  const to = expr.type.name;
  if (from === to) return operand;
  if (from === "VARSIZED" || to === "VARSIZED") return castText(source, operand, from, to);
  const { value, isNull } = asFixed(operand);
  return fixed(convert(source, value, from, to), isNull);
}
