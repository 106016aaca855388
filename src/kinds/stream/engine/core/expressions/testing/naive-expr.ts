/**
 * The meaning of expressions, row by row and as plainly as possible: the oracle of the compiled
 * ones. Values are plain: NULL is null, integers are BigInts, floats are numbers, texts are
 * strings, a CHAR is a number. Nothing here is shared with the compiler.
 */
import type { Constant, Expr, TypeName } from "../../../../language/core/index.ts";
import { DialectError } from "../../../../language/core/index.ts";
import { textFunctionNaively } from "./naive-text.ts";

export type Plain = null | boolean | number | bigint | string;
type Call = Extract<Expr, { readonly kind: "call" }>;

export function evaluateNaively(expr: Expr, row: readonly Plain[]): Plain {
  switch (expr.kind) {
    case "column":
      return row[expr.index] ?? null;
    case "literal":
      return literal(expr.value, expr.type.name);
    case "cast":
      return castNaively(evaluateNaively(expr.arg, row), expr.arg.type.name, expr.type.name);
    case "case":
      for (const { when, then } of expr.branches) {
        if (evaluateNaively(when, row) === true) return evaluateNaively(then, row);
      }
      return expr.otherwise === undefined ? null : evaluateNaively(expr.otherwise, row);
    case "call":
      return lazily(expr, row);
  }
}

function literal(value: Constant, type: TypeName): Plain {
  if (value === null) return null;
  if (isInt(type)) return BigInt(value);
  if (type === "FLOAT64") return Number(value);
  if (type === "FLOAT32") return Math.fround(Number(value));
  if (type === "CHAR") return String(value).charCodeAt(0);
  return type === "VARSIZED" ? String(value) : value;
}

const isInt = (type: TypeName): boolean => type.includes("INT");
const isFloat = (type: TypeName): boolean => type.startsWith("FLOAT");

/** The functions that do not need all their arguments, or take NULLs. */
function lazily(call: Call, row: readonly Plain[]): Plain {
  const value = (index: number): Plain => evaluateNaively(call.args[index] as Expr, row);
  switch (call.fn) {
    case "and":
    case "or": {
      const settling = call.fn === "or";
      let unknown = false;
      for (let index = 0; index < call.args.length; index += 1) {
        const part = value(index);
        if (part === settling) return settling;
        if (part === null) unknown = true;
      }
      return unknown ? null : !settling;
    }
    case "is_null":
      return value(0) === null;
    case "is_not_null":
      return value(0) !== null;
    case "null_safe_equal": {
      const [a, b] = [value(0), value(1)];
      return a === null || b === null ? a === b : compare(a, b) === 0;
    }
    case "coalesce":
      for (let index = 0; index < call.args.length; index += 1) {
        const part = value(index);
        if (part !== null) return part;
      }
      return null;
    case "nullif": {
      const [a, b] = [value(0), value(1)];
      return a !== null && b !== null && compare(a, b) === 0 ? null : a;
    }
    default: {
      const values = call.args.map((_, index) => value(index));
      if (values.includes(null)) return null;
      const types = call.args.map((arg) => arg.type.name);
      return strictly(call, values as Exclude<Plain, null>[], types);
    }
  }
}

type Value = Exclude<Plain, null>;

function strictly(call: Call, values: readonly Value[], types: readonly TypeName[]): Plain {
  const type = call.type.name;
  const [a, b] = values as [Value, Value];
  switch (call.fn) {
    case "add":
    case "subtract":
    case "multiply":
    case "divide":
    case "modulo":
    case "bit_and":
    case "bit_or":
    case "bit_xor":
    case "shift_left":
    case "shift_right":
      return arithmetic(call.fn, a, b, type);
    case "negate":
      return typeof a === "bigint" ? wrapInt(-a, type) : -(a as number);
    case "equal":
      return compare(a, b) === 0;
    case "not_equal":
      return compare(a, b) !== 0;
    case "less":
      return (compare(a, b) ?? 1) < 0;
    case "less_equal":
      return (compare(a, b) ?? 1) <= 0;
    case "greater":
      return (compare(a, b) ?? -1) > 0;
    case "greater_equal":
      return (compare(a, b) ?? -1) >= 0;
    case "not":
      return !(a as boolean);
    case "is_nan":
      return Number.isNaN(a);
    case "abs": {
      if (typeof a === "number") return Math.abs(a);
      const magnitude = (a as bigint) < 0n ? -(a as bigint) : (a as bigint);
      if (wrapInt(magnitude, type) !== magnitude) throw new DialectError(3013, "abs");
      return magnitude;
    }
    case "ceil":
      return typeof a === "number" ? Math.ceil(a) : a;
    case "floor":
      return typeof a === "number" ? Math.floor(a) : a;
    case "round": {
      if (typeof a !== "number" || !Number.isFinite(a)) return a;
      const down = Math.floor(Math.abs(a));
      return (Math.abs(a) - down >= 0.5 ? down + 1 : down) * (a < 0 || Object.is(a, -0) ? -1 : 1);
    }
    case "sqrt":
      return castNaively(Math.sqrt(a as number), "FLOAT64", type);
    case "exp":
      return castNaively(Math.exp(a as number), "FLOAT64", type);
    case "ln":
      return castNaively(Math.log(a as number), "FLOAT64", type);
    case "log10":
      return castNaively(Math.log10(a as number), "FLOAT64", type);
    case "power":
      if (a === 1 || (a === -1 && Math.abs(b as number) === Infinity)) return 1;
      return castNaively((a as number) ** (b as number), "FLOAT64", type);
    case "sign":
      if (typeof a === "number") return Number.isNaN(a) ? a : Math.sign(a);
      return (a as bigint) > 0n ? 1n : (a as bigint) < 0n ? -1n : 0n;
    case "least":
      return values.reduce((best, next) => ((compare(next, best) ?? 1) < 0 ? next : best));
    case "greatest":
      return values.reduce((best, next) => ((compare(next, best) ?? -1) > 0 ? next : best));
    case "concat":
      return values.join("");
    case "char_length":
      return BigInt([...(a as string)].length);
    case "octet_length":
      return BigInt(new TextEncoder().encode(a as string).length);
    case "parse_number":
    case "to_text":
      return castNaively(a, types[0] as TypeName, type);
    case "text_to_number":
      return castNaively((a as string).replace(/[^0-9.+-]/g, ""), "VARSIZED", type);
    default: {
      const value = textFunctionNaively(call.fn, values, type);
      if (value === undefined) throw new Error(`the oracle does not know ${call.fn}`);
      return value;
    }
  }
}

/** `undefined` where one is NaN. */
function compare(a: Value, b: Value): number | undefined {
  if (typeof a === "string") return compareTexts(a, b as string);
  if (Number.isNaN(a) || Number.isNaN(b)) return undefined;
  return a < b ? -1 : a > b ? 1 : 0;
}

function compareTexts(a: string, b: string): number {
  const left = [...a].map((char) => char.codePointAt(0) ?? 0);
  const right = [...b].map((char) => char.codePointAt(0) ?? 0);
  for (let i = 0; i < Math.min(left.length, right.length); i += 1) {
    const difference = (left[i] as number) - (right[i] as number);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

function arithmetic(fn: string, a: Value, b: Value, type: TypeName): Plain {
  if (typeof a === "bigint" && typeof b === "bigint") {
    if ((fn === "divide" || fn === "modulo") && b === 0n) throw new DialectError(3013, "zero");
    return wrapInt(integerResult(fn, a, b, bitsOf(type)), type);
  }
  const [x, y] = [a as number, b as number];
  const result = { add: x + y, subtract: x - y, multiply: x * y, divide: x / y, modulo: x % y }[fn];
  return type === "FLOAT32" ? Math.fround(result as number) : (result as number);
}

function integerResult(fn: string, a: bigint, b: bigint, bits: bigint): bigint {
  switch (fn) {
    case "add":
      return a + b;
    case "subtract":
      return a - b;
    case "multiply":
      return a * b;
    case "divide":
      return a / b;
    case "modulo":
      return a % b;
    case "bit_and":
      return a & b;
    case "bit_or":
      return a | b;
    case "bit_xor":
      return a ^ b;
    case "shift_left":
      return a << (b & (bits - 1n));
    default:
      return a >> (b & (bits - 1n));
  }
}

function bitsOf(type: TypeName): bigint {
  return BigInt(type.replace(/\D/g, ""));
}

function wrapInt(value: bigint, type: TypeName): bigint {
  const bits = Number(bitsOf(type));
  return type.startsWith("U") ? BigInt.asUintN(bits, value) : BigInt.asIntN(bits, value);
}

export function castNaively(value: Plain, from: TypeName, to: TypeName): Plain {
  if (value === null || from === to) return value;
  if (to === "VARSIZED") return textOf(value, from);
  if (from === "VARSIZED") return numberOf(value as string, to);
  if (to === "BOOLEAN") return typeof value === "bigint" ? value !== 0n : value !== 0;
  const number = value === true ? 1 : value === false ? 0 : value;
  if (to === "CHAR") return Number(wrapInt(wholeOf(number as number | bigint), "UINT8"));
  if (isInt(to)) return wrapInt(wholeOf(number as number | bigint), to);
  if (typeof number === "bigint" && to === "FLOAT32") return nearestFloat(number);
  return to === "FLOAT32" ? Math.fround(Number(number)) : Number(number);
}

function wholeOf(value: number | bigint): bigint {
  if (typeof value === "bigint") return value;
  return Number.isFinite(value) ? BigInt(Math.trunc(value)) : 0n;
}

/** Of the floats around a double the one nearest to the integer; ties to the even one. */
function nearestFloat(value: bigint): number {
  const near = Math.fround(Number(value));
  const bits = new Int32Array(Float32Array.of(near).buffer);
  const candidates = [-1, 0, 1].map((step) => {
    const raw = Int32Array.of((bits[0] as number) + step);
    return { raw: raw[0] as number, float: new Float32Array(raw.buffer)[0] as number };
  });
  const finite = candidates.filter(
    ({ float }) => Number.isFinite(float) && Number.isInteger(float),
  );
  const distance = (float: number): bigint => {
    const difference = BigInt(float) - value;
    return difference < 0n ? -difference : difference;
  };
  finite.sort((a, b) => {
    const order = distance(a.float) - distance(b.float);
    return order === 0n ? (a.raw & 1) - (b.raw & 1) : order < 0n ? -1 : 1;
  });
  return finite[0]?.float ?? near;
}

function textOf(value: Value, from: TypeName): string {
  if (from === "CHAR") return String.fromCharCode(value as number);
  if (!isFloat(from)) return String(value);
  const number = value as number;
  if (Number.isNaN(number)) return "nan";
  if (!Number.isFinite(number)) return number < 0 ? "-inf" : "inf";
  if (Object.is(number, -0)) return "-0.0";
  let text = String(number);
  if (from === "FLOAT32") {
    for (let precision = 9; precision >= 6; precision -= 1) {
      const shorter = String(Number(number.toPrecision(precision)));
      if (Math.fround(Number(shorter)) === number) text = shorter;
    }
  }
  return /[.e]/.test(text) ? text : `${text}.0`;
}

function numberOf(text: string, to: TypeName): Plain {
  const refuse = (): never => {
    throw new DialectError(4003, text);
  };
  if (to === "BOOLEAN") {
    if (/^(true|1)$/i.test(text)) return true;
    return /^(false|0)$/i.test(text) ? false : refuse();
  }
  if (to === "CHAR") return text.length === 1 ? text.charCodeAt(0) : refuse();
  if (isInt(to)) {
    const match = /^([+-]?)(0x[0-9a-f]+|[0-9]+)$/i.exec(text);
    if (match === null || (match[1] === "-" && to.startsWith("U"))) return refuse();
    const value = BigInt(match[2] ?? "") * (match[1] === "-" ? -1n : 1n);
    return wrapInt(value, to) === value ? value : refuse();
  }
  const named = /^([+-]?)(nan|inf|infinity)$/i.exec(text);
  if (named !== null) {
    if (named[2]?.toLowerCase() === "nan") return Number.NaN;
    return named[1] === "-" ? -Infinity : Infinity;
  }
  const hexadecimal = /^([+-]?)(0x[0-9a-f]+)$/i.exec(text);
  if (hexadecimal === null && !/^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?$/i.test(text)) {
    return refuse();
  }
  const number =
    hexadecimal === null
      ? Number(text)
      : Number(hexadecimal[2]) * (hexadecimal[1] === "-" ? -1 : 1);
  const rounded = to === "FLOAT32" ? Math.fround(number) : number;
  return Number.isFinite(rounded) ? rounded : refuse();
}
