/** Random expressions, schemas and rows, for the property test. */
import type { Prng } from "../../../../../../ground/kernel/prng.ts";
import type {
  Expr,
  Field,
  FunctionName,
  Schema,
  TypeName,
} from "../../../../language/core/index.ts";
import type { Plain } from "./naive-expr.ts";

const integerNames = [
  "INT8",
  "INT16",
  "INT32",
  "INT64",
  "UINT8",
  "UINT16",
  "UINT32",
  "UINT64",
] as const;
const numericNames = [...integerNames, "FLOAT32", "FLOAT64"] as const;
const typeNames: readonly TypeName[] = [...numericNames, "BOOLEAN", "CHAR", "VARSIZED"];

/** Every type twice: with NULLs and without. */
export const testSchema: Schema = typeNames.flatMap((name): Field[] => [
  { name: `${name}_n`, type: { name, nullable: true } },
  { name, type: { name, nullable: false } },
]);

const pick = <T>(prng: Prng, from: readonly T[]): T => from[prng.below(from.length)] as T;

const texts = [
  "",
  "a",
  "b",
  "abc",
  "12",
  "-7",
  "4.5",
  "äöü",
  "你好",
  "🎉x",
  "true",
  "1e3",
  "Hello World",
  "  b ",
  "a1b12",
  "nan",
];
const floats = [
  0,
  -0,
  1,
  -1,
  0.5,
  2.5,
  -2.5,
  1e10,
  -1e19,
  1e300,
  3.4e38,
  Number.NaN,
  Infinity,
  -Infinity,
  23.2,
  1e-7,
];

export function randomValue(prng: Prng, type: TypeName): Exclude<Plain, null> {
  if (type === "VARSIZED") return pick(prng, texts);
  if (type === "BOOLEAN") return prng.below(2) === 1;
  if (type === "CHAR") return 32 + prng.below(95);
  if (type === "FLOAT64")
    return prng.below(3) === 0 ? prng.next() * 1_000 - 500 : pick(prng, floats);
  if (type === "FLOAT32") return Math.fround(randomValue(prng, "FLOAT64") as number);
  const bits = Number(type.replace(/\D/g, ""));
  const wrap = (value: bigint): bigint =>
    type.startsWith("U") ? BigInt.asUintN(bits, value) : BigInt.asIntN(bits, value);
  const top = 1n << BigInt(bits - 1);
  const edges = [
    0n,
    1n,
    -1n,
    2n,
    3n,
    7n,
    top,
    top - 1n,
    -top,
    top + 1n,
    1n << 53n,
    (1n << 62n) + 1n,
  ];
  if (prng.below(2) === 0) return wrap(pick(prng, edges));
  return wrap(BigInt(Math.floor(prng.next() * 2 ** 53)) * BigInt(prng.below(4_096)));
}

export function randomRow(prng: Prng, schema: Schema): Plain[] {
  return schema.map(({ type }) =>
    type.nullable && prng.below(4) === 0 ? null : randomValue(prng, type.name),
  );
}

/** An expression of the type; `nullable` says nothing more than that it may be NULL. */
export function randomExpr(prng: Prng, type: TypeName, depth: number): Expr {
  if (depth <= 0 || prng.below(8) === 0) return leaf(prng, type);
  const sub = (of: TypeName): Expr => randomExpr(prng, of, depth - 1);
  const call = (fn: FunctionName, ...args: readonly Expr[]): Expr => ({
    kind: "call",
    fn,
    args,
    type: { name: type, nullable: true },
  });
  switch (prng.below(9)) {
    case 0: {
      const branches = Array.from({ length: 1 + prng.below(2) }, () => ({
        when: sub("BOOLEAN"),
        // biome-ignore lint/suspicious/noThenProperty: the plan's own name, and nobody awaits it
        then: sub(type),
      }));
      const otherwise = prng.below(3) === 0 ? undefined : sub(type);
      return { kind: "case", branches, otherwise, type: { name: type, nullable: true } };
    }
    case 1:
      return call("coalesce", sub(type), sub(type), sub(type));
    case 2:
      return call("nullif", sub(type), sub(type));
    case 3: {
      const of = pick(
        prng,
        typeNames.filter((name) => name !== "VARSIZED" && name !== "CHAR"),
      );
      return { kind: "cast", arg: sub(of), type: { name: type, nullable: true } };
    }
    default:
      return ofType(prng, type, sub, call);
  }
}

type MakeCall = (fn: FunctionName, ...args: readonly Expr[]) => Expr;

function ofType(prng: Prng, type: TypeName, sub: (of: TypeName) => Expr, call: MakeCall): Expr {
  if (type === "BOOLEAN") return booleanCall(prng, sub, call);
  if (type === "CHAR")
    return call(pick(prng, ["least", "greatest"] as const), sub(type), sub(type));
  if (type === "VARSIZED") {
    if (prng.below(3) === 0) return call("to_text", sub(pick(prng, typeNames)));
    if (prng.below(2) === 0) return textCall(prng, sub, call);
    return call(pick(prng, ["concat", "least", "greatest"] as const), sub(type), sub(type));
  }
  const one = ["negate", "abs", "ceil", "floor", "round", "sign"] as const;
  const two = ["add", "subtract", "multiply", "divide", "modulo", "least", "greatest"] as const;
  const choice = prng.below(10);
  if (choice < 5) return call(pick(prng, two), sub(type), sub(type));
  if (choice < 7) return call(pick(prng, one), sub(type));
  if (choice === 7)
    return call(pick(prng, ["parse_number", "text_to_number"] as const), sub("VARSIZED"));
  if (type.startsWith("FLOAT")) {
    if (prng.below(3) === 0) return call("power", sub("FLOAT64"), sub("FLOAT64"));
    return call(pick(prng, ["sqrt", "exp", "ln", "log10"] as const), sub("FLOAT64"));
  }
  if (type === "UINT64" && choice === 8) {
    if (prng.below(3) === 0) return call("position", sub("VARSIZED"), sub("VARSIZED"));
    return call(pick(prng, ["char_length", "octet_length"] as const), sub("VARSIZED"));
  }
  const bits = ["bit_and", "bit_or", "bit_xor", "shift_left", "shift_right"] as const;
  return call(pick(prng, bits), sub(type), sub(type));
}

function textCall(prng: Prng, sub: (of: TypeName) => Expr, call: MakeCall): Expr {
  const text = sub("VARSIZED");
  switch (prng.below(6)) {
    case 0:
      return call("substring", text, sub("INT64"), smallInteger(prng));
    case 1:
      return call("substring", text, smallInteger(prng));
    case 2:
      return call("replace", text, sub("VARSIZED"), sub("VARSIZED"));
    case 3:
      return call("split_part", text, sub("VARSIZED"), smallInteger(prng));
    case 4:
      return call("from_base64", call("to_base64", text));
    default:
      return call(
        pick(prng, ["upper", "lower", "trim", "ltrim", "rtrim", "to_base64"] as const),
        text,
      );
  }
}

function smallInteger(prng: Prng): Expr {
  const value = String(prng.below(9) - 3);
  return { kind: "literal", value, type: { name: "INT64", nullable: false } };
}

const patterns = [
  "",
  "%",
  "_",
  "a%",
  "%b%",
  "_b_",
  "%_",
  "h%l%",
  "H_llo%d",
  "äö_",
  "%好",
  "1\\%",
  "__",
  "%1%2%",
  "_%_%_",
];

function booleanCall(prng: Prng, sub: (of: TypeName) => Expr, call: MakeCall): Expr {
  const choice = prng.below(10);
  if (choice < 4) return call(pick(prng, ["and", "or"] as const), sub("BOOLEAN"), sub("BOOLEAN"));
  if (choice === 4) return call("not", sub("BOOLEAN"));
  if (choice === 9) {
    const searches = ["starts_with", "ends_with", "contains"] as const;
    if (prng.below(2) === 0) return call(pick(prng, searches), sub("VARSIZED"), sub("VARSIZED"));
    const type = { name: "VARSIZED", nullable: false } as const;
    return call("like", sub("VARSIZED"), { kind: "literal", value: pick(prng, patterns), type });
  }
  const type = pick(prng, typeNames);
  if (choice === 5) return call(pick(prng, ["is_null", "is_not_null"] as const), sub(type));
  if (choice === 6) return call("is_nan", sub(pick(prng, numericNames)));
  const comparisons = [
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "null_safe_equal",
  ] as const;
  return call(pick(prng, comparisons), sub(type), sub(type));
}

function leaf(prng: Prng, type: TypeName): Expr {
  if (prng.below(3) > 0) {
    const index = typeNames.indexOf(type) * 2 + prng.below(2);
    return { kind: "column", index, type: { name: type, nullable: index % 2 === 0 } };
  }
  const dataType = { name: type, nullable: false };
  if (prng.below(10) === 0)
    return { kind: "literal", value: null, type: { ...dataType, nullable: true } };
  const value = randomValue(prng, type);
  if (typeof value === "boolean" || typeof value === "string") {
    return { kind: "literal", value, type: dataType };
  }
  if (type === "CHAR")
    return { kind: "literal", value: String.fromCharCode(Number(value)), type: dataType };
  if (typeof value === "number" && Number.isFinite(value))
    return { kind: "literal", value, type: dataType };
  return { kind: "literal", value: String(value), type: dataType };
}
