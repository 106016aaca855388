/** Numbers: arithmetic that wraps, comparisons, bits, and the functions of mathematics. */
import type { Expr, FunctionName, TypeName } from "../../../language/core/index.ts";
import { isFloat, isInteger, isSigned } from "../../../language/core/index.ts";
import { convert, toDouble } from "./convert.ts";
import { is64, wrap, zeroOf } from "./representation.ts";
import {
  anyNull,
  asFixed,
  asText,
  declareResult,
  type FixedOperand,
  fixed,
  type Generate,
  not,
  type Operand,
  type Source,
  spread,
} from "./source.ts";

type Call = Extract<Expr, { readonly kind: "call" }>;
type Make = (source: Source, call: Call, generate: Generate) => Operand;

/** Two arguments of one type, converted to the type of the result where that is another. */
function binary(
  source: Source,
  call: Call,
  generate: Generate,
  compute: (a: string, b: string, type: TypeName) => string,
): FixedOperand {
  const [a, b] = operandsAs(source, call, generate, call.type.name);
  const value = source.local(compute(a.value, b.value, call.type.name));
  return fixed(value, anyNull(a.isNull, b.isNull));
}

function operandsAs(
  source: Source,
  call: Call,
  generate: Generate,
  type: TypeName,
): [FixedOperand, FixedOperand] {
  const [first, second] = call.args as [Expr, Expr];
  return [operandAs(source, first, generate, type), operandAs(source, second, generate, type)];
}

export function operandAs(
  source: Source,
  expr: Expr,
  generate: Generate,
  type: TypeName,
): FixedOperand {
  const operand = asFixed(generate(source, expr));
  return fixed(convert(source, operand.value, expr.type.name, type), operand.isNull);
}

function product(a: string, b: string, type: TypeName): string {
  return isFloat(type) || is64(type)
    ? wrap(`${a} * ${b}`, type)
    : wrap(`Math.imul(${a}, ${b})`, type);
}

/** Division and remainder: an integer divisor of 0 is error 3013. */
function quotient(operator: "/" | "%"): Make {
  return (source, call, generate) => {
    const type = call.type.name;
    const [a, b] = operandsAs(source, call, generate, type);
    const isNull = anyNull(a.isNull, b.isNull);
    const value = wrap(`${a.value} ${operator} ${b.value}`, type);
    if (!isInteger(type)) return fixed(source.local(value), isNull);
    const fail = source.helper("failDivision");
    const isZero = `${b.value} === ${zeroOf(type)}`;
    if (isNull === "false") {
      source.line(`if (${isZero}) ${fail}();`);
      return fixed(source.local(value));
    }
    const condition = source.local(isNull);
    const { operand } = declareResult(source, type, false);
    source.line(`if (!${condition}) {`);
    source.line(`if (${isZero}) ${fail}();`);
    source.line(`${asFixed(operand).value} = ${value};`);
    source.line("}");
    return fixed(asFixed(operand).value, condition);
  };
}

const comparisonOperators = {
  equal: "===",
  not_equal: "!==",
  less: "<",
  less_equal: "<=",
  greater: ">",
  greater_equal: ">=",
} as const;

/** The condition that two operands of one type compare so; NULLs do not matter to it. */
export function comparison(
  source: Source,
  fn: keyof typeof comparisonOperators,
  a: Operand,
  b: Operand,
): string {
  const operator = comparisonOperators[fn];
  if (a.kind === "fixed") return source.local(`${a.value} ${operator} ${asFixed(b).value}`);
  const texts = `${spread(a)}, ${spread(asText(b))}`;
  if (fn === "equal") return source.local(`${source.helper("equalTexts")}(${texts})`);
  if (fn === "not_equal") return source.local(`!${source.helper("equalTexts")}(${texts})`);
  return source.local(`${source.helper("compareTexts")}(${texts}) ${operator} 0`);
}

function compare(fn: keyof typeof comparisonOperators): Make {
  return (source, call, generate) => {
    const [a, b] = comparedOperands(source, call, generate);
    return fixed(comparison(source, fn, a, b), anyNull(a.isNull, b.isNull));
  };
}

/** Both arguments; the second takes the type of the first, should the plan not have said so. */
export function comparedOperands(
  source: Source,
  call: Call,
  generate: Generate,
): [Operand, Operand] {
  const [first, second] = call.args as [Expr, Expr];
  const a = generate(source, first);
  const b = generate(source, second);
  if (a.kind === "text" || b.kind === "text") return [a, b];
  const value = convert(source, b.value, second.type.name, first.type.name);
  return [a, fixed(value, b.isNull)];
}

/** A function of doubles; the result is converted to the type of the call. */
function ofDoubles(compute: (...values: readonly string[]) => string): Make {
  return (source, call, generate) => {
    const operands = call.args.map((arg) => {
      const operand = asFixed(generate(source, arg));
      return fixed(toDouble(source, operand.value, arg.type.name), operand.isNull);
    });
    const value = source.local(compute(...operands.map((operand) => operand.value)));
    return fixed(
      convert(source, value, "FLOAT64", call.type.name),
      anyNull(...operands.map((operand) => operand.isNull)),
    );
  };
}

/** Rounding keeps the type, so it does nothing to integers. */
function rounding(compute: (value: string) => string): Make {
  return (source, call, generate) => {
    const [arg] = call.args as [Expr];
    const operand = asFixed(generate(source, arg));
    const value = isFloat(arg.type.name) ? source.local(compute(operand.value)) : operand.value;
    return fixed(convert(source, value, arg.type.name, call.type.name), operand.isNull);
  };
}

/** Of the least integer there is no absolute value in its type: error 3013. */
const absolute: Make = (source, call, generate) => {
  const type = call.type.name;
  const operand = operandAs(source, (call.args as [Expr])[0], generate, type);
  if (isFloat(type)) return fixed(source.local(`Math.abs(${operand.value})`), operand.isNull);
  if (!isSigned(type)) return operand;
  const zero = zeroOf(type);
  const value = source.local(
    `${operand.value} < ${zero} ? ${wrap(`-${operand.value}`, type)} : ${operand.value}`,
  );
  const check = operand.isNull === "false" ? "" : `${not(operand.isNull)} && `;
  source.line(`if (${check}${value} < ${zero}) ${source.helper("failAbsolute")}();`);
  return fixed(value, operand.isNull);
};

const sign: Make = (source, call, generate) => {
  const [arg] = call.args as [Expr];
  const operand = asFixed(generate(source, arg));
  const type = arg.type.name;
  const zero = zeroOf(type);
  const { value, isNull } = operand;
  if (isFloat(type)) {
    const made = source.local(`${value} > 0 ? 1 : ${value} < 0 ? -1 : ${value}`);
    return fixed(convert(source, made, type, call.type.name), isNull);
  }
  const made = source.local(`${value} > ${zero} ? 1 : ${value} < ${zero} ? -1 : 0`);
  return fixed(convert(source, made, "INT32", call.type.name), isNull);
};

/** The first of the arguments that no other is less (or greater) than. */
function extreme(fn: "less" | "greater"): Make {
  return (source, call, generate) => {
    const operands = call.args.map((arg) => generate(source, arg));
    const isNull = source.local(anyNull(...operands.map((operand) => operand.isNull)));
    const best = declareResult(source, call.type.name, false);
    best.assign(operands[0] as Operand);
    for (const operand of operands.slice(1)) {
      source.line(`if (${comparison(source, fn, operand, best.operand)}) {`);
      best.assign(operand);
      source.line("}");
    }
    return { ...best.operand, isNull: isNull };
  };
}

/** The distance is taken modulo the width of the type, like processors do. */
function shift(operator: "<<" | ">>"): Make {
  return (source, call, generate) =>
    binary(source, call, generate, (a, b, type) => {
      if (is64(type)) return wrap(`${a} ${operator} (${b} & 63n)`, type);
      const bits = type.endsWith("8") ? 7 : type.endsWith("16") ? 15 : 31;
      const signed = operator === ">>" && !isSigned(type) ? ">>>" : operator;
      return wrap(`${a} ${signed} (${b} & ${bits})`, type);
    });
}

function bits(operator: "&" | "|" | "^"): Make {
  return (source, call, generate) =>
    binary(source, call, generate, (a, b, type) => wrap(`${a} ${operator} ${b}`, type));
}

export const arithmeticFunctions: Partial<Readonly<Record<FunctionName, Make>>> = {
  add: (source, call, generate) =>
    binary(source, call, generate, (a, b, type) => wrap(`${a} + ${b}`, type)),
  subtract: (source, call, generate) =>
    binary(source, call, generate, (a, b, type) => wrap(`${a} - ${b}`, type)),
  multiply: (source, call, generate) => binary(source, call, generate, product),
  divide: quotient("/"),
  modulo: quotient("%"),
  negate: (source, call, generate) => {
    const type = call.type.name;
    const operand = operandAs(source, (call.args as [Expr])[0], generate, type);
    return fixed(source.local(wrap(`-${operand.value}`, type)), operand.isNull);
  },
  equal: compare("equal"),
  not_equal: compare("not_equal"),
  less: compare("less"),
  less_equal: compare("less_equal"),
  greater: compare("greater"),
  greater_equal: compare("greater_equal"),
  is_nan: (source, call, generate) => {
    const [arg] = call.args as [Expr];
    const operand = asFixed(generate(source, arg));
    const value = isFloat(arg.type.name)
      ? source.local(`${operand.value} !== ${operand.value}`)
      : "false";
    return fixed(value, operand.isNull);
  },
  abs: absolute,
  ceil: rounding((value) => `Math.ceil(${value})`),
  floor: rounding((value) => `Math.floor(${value})`),
  /** Ties go away from zero. */
  round: (source, call, generate) => {
    source.helper("roundHalfAway");
    return rounding((value) => `roundHalfAway(${value})`)(source, call, generate);
  },
  sqrt: ofDoubles((value) => `Math.sqrt(${value})`),
  exp: ofDoubles((value) => `Math.exp(${value})`),
  ln: ofDoubles((value) => `Math.log(${value})`),
  log10: ofDoubles((value) => `Math.log10(${value})`),
  power: (source, call, generate) => {
    source.helper("power");
    return ofDoubles((a, b) => `power(${a}, ${b})`)(source, call, generate);
  },
  sign,
  least: extreme("less"),
  greatest: extreme("greater"),
  bit_and: bits("&"),
  bit_or: bits("|"),
  bit_xor: bits("^"),
  shift_left: shift("<<"),
  shift_right: shift(">>"),
};
