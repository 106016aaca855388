/** Numbers as they are written, and literals of a given type. */
import { isFloat, isInteger, type TypeName } from "../data-type.ts";
import { DialectError, type Position } from "../dialect-error.ts";
import type { Expr } from "../expr.ts";
import { castTo, literal } from "./exprs.ts";
import { integerRange, isText, literalType } from "./promote.ts";

/** An integer has the smallest type that holds it; what has a point or an exponent is FLOAT64. */
export function bindNumber(text: string, position: Position): Expr {
  const digits = text.replace("-", "");
  const isHexadecimal = /^0x/i.test(digits);
  if (!isHexadecimal && /[.eE]/.test(digits)) {
    const value = Number(text);
    if (!Number.isFinite(value)) throw invalid(`${text} is too large for FLOAT64`, position);
    return literal(value, "FLOAT64");
  }
  const value = text.startsWith("-") ? -BigInt(digits) : BigInt(digits);
  const type = literalType(value);
  if (type === undefined) throw invalid(`${text} does not fit into 64 bits`, position);
  return literal(String(value), type);
}

/** `UINT8(1)`, `VARSIZED('x')`: the value must be one of that type. */
export function constructLiteral(
  arg: Expr & { readonly kind: "literal" },
  type: TypeName,
  position: Position,
): Expr {
  const from = arg.type.name;
  if (arg.value === null || from === type) return castTo(arg, type);
  if (isInteger(from) && isInteger(type)) {
    const [least, greatest] = integerRange(type);
    const value = BigInt(arg.value as string);
    if (value < least || value > greatest) {
      throw invalid(`${arg.value} is no ${type}: from ${least} to ${greatest}`, position);
    }
    return literal(String(value), type);
  }
  if ((isInteger(from) || isFloat(from)) && isFloat(type)) return castTo(arg, type);
  if (isFloat(from) && isInteger(type)) return castTo(arg, type);
  if (isText(from)) return constructFromText(String(arg.value), type, position);
  throw invalid(`${String(arg.value)} is no ${type}`, position);
}

function constructFromText(value: string, type: TypeName, position: Position): Expr {
  if (type === "VARSIZED") return literal(value, type);
  if (type === "CHAR") {
    if (new TextEncoder().encode(value).length !== 1) {
      throw invalid(`'${value}' is no CHAR: one byte`, position);
    }
    return literal(value, type);
  }
  if (type === "BOOLEAN" && /^(true|false)$/i.test(value)) {
    return literal(value.toLowerCase() === "true", type);
  }
  if (type !== "BOOLEAN" && /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value)) {
    const number = bindNumber(value.replace("+", ""), position);
    return constructLiteral(number as Expr & { readonly kind: "literal" }, type, position);
  }
  throw invalid(`'${value}' is no ${type}`, position);
}

function invalid(message: string, position: Position): DialectError {
  return new DialectError(2010, message, { position });
}
