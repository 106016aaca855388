/** Which type an operation is computed in: the usual arithmetic conversions of C++. */
import {
  type IntegerType,
  isFloat,
  isInteger,
  isNumeric,
  type TypeName,
  widthOf,
} from "../data-type.ts";

/** `undefined` where one of them is no number. */
export function promote(left: TypeName, right: TypeName): TypeName | undefined {
  if (!isNumeric(left) || !isNumeric(right)) return undefined;
  if (left === "FLOAT64" || right === "FLOAT64") return "FLOAT64";
  if (isFloat(left) || isFloat(right)) return "FLOAT32";
  return promoteIntegers(widen(left), widen(right));
}

/** Integers that are smaller than an `int` become one. */
function widen(type: IntegerType): IntegerType {
  return widthOf(type) < 4 ? "INT32" : type;
}

function promoteIntegers(left: IntegerType, right: IntegerType): IntegerType {
  if (widthOf(left) !== widthOf(right)) return widthOf(left) > widthOf(right) ? left : right;
  return left.startsWith("U") ? left : right;
}

/** The type to compare two values in; `undefined` where they cannot be compared. */
export function comparableType(left: TypeName, right: TypeName): TypeName | undefined {
  if (left === right) return left;
  if (isText(left) && isText(right)) return "VARSIZED";
  return promote(left, right);
}

/**
 * The type that all of several values have: their own, or for numbers the smallest that holds the
 * values of both; a mixture of 64-bit integers of both signs is FLOAT64.
 */
export function commonType(left: TypeName, right: TypeName): TypeName | undefined {
  if (left === right) return left;
  if (isText(left) && isText(right)) return "VARSIZED";
  if (!isNumeric(left) || !isNumeric(right)) return undefined;
  if (isFloat(left) || isFloat(right)) {
    const other = isFloat(left) ? right : left;
    const isExact = isInteger(other) && widthOf(other) <= 2;
    return (left === "FLOAT32" || right === "FLOAT32") && isExact ? "FLOAT32" : "FLOAT64";
  }
  return commonInteger(left, right);
}

function commonInteger(left: IntegerType, right: IntegerType): TypeName {
  const isSameSign = left.startsWith("U") === right.startsWith("U");
  if (isSameSign) return widthOf(left) > widthOf(right) ? left : right;
  const [unsigned, signed] = left.startsWith("U") ? [left, right] : [right, left];
  const bits = Math.max(widthOf(unsigned) * 2, widthOf(signed)) * 8;
  return bits > 64 ? "FLOAT64" : (`INT${bits}` as IntegerType);
}

export function isText(type: TypeName): boolean {
  return type === "VARSIZED" || type === "CHAR";
}

/** Whether every value of `from` is one of `to`. */
export function isWidening(from: TypeName, to: TypeName): boolean {
  if (from === to) return true;
  if (from === "CHAR" && to === "VARSIZED") return true;
  if (from === "FLOAT32" && to === "FLOAT64") return true;
  if (!isInteger(from)) return false;
  if (to === "FLOAT64") return widthOf(from) <= 4;
  if (to === "FLOAT32") return widthOf(from) <= 2;
  if (!isInteger(to)) return false;
  if (from.startsWith("U") === to.startsWith("U")) return widthOf(from) <= widthOf(to);
  return from.startsWith("U") && widthOf(from) < widthOf(to);
}

/** The smallest type of an integer literal; `undefined` where none holds it. */
export function literalType(value: bigint): IntegerType | undefined {
  for (const bits of [8, 16, 32, 64] as const) {
    if (value >= 0n && value < 1n << BigInt(bits)) return `UINT${bits}`;
    if (value < 0n && value >= -(1n << BigInt(bits - 1))) return `INT${bits}`;
  }
  return undefined;
}

/** The values of an integer type, inclusive. */
export function integerRange(type: IntegerType): readonly [least: bigint, greatest: bigint] {
  const bits = BigInt(widthOf(type) * 8);
  if (type.startsWith("U")) return [0n, (1n << bits) - 1n];
  return [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n];
}
