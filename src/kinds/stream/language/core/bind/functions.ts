/**
 * The functions that a person can call: what they take, and what they become. A wrong number of
 * arguments is error 2002, an argument of a wrong type 2006.
 */
import { isInteger, isNumeric, type TypeName } from "../data-type.ts";
import type { Expr, FunctionName } from "../expr.ts";
import { call, castTo, literal } from "./exprs.ts";
import { commonType, isText } from "./promote.ts";

type Kind =
  | "number"
  | "integer"
  | "text"
  | "time"
  | "any"
  | "boolean"
  | "constant text"
  /** A regular expression. */
  | "pattern"
  /** The number of a group of the pattern before it. */
  | "group";

export interface FunctionSignature {
  readonly args: readonly Kind[];
  /** How many of the last arguments may be left out. */
  readonly optional?: number;
  /** The last argument may be repeated. */
  readonly variadic?: boolean;
  /** Makes the call of arguments that were checked; `undefined` where their types do not fit. */
  readonly build: (args: readonly Expr[]) => Expr | undefined;
}

/** Which arguments each kind takes. */
export function isOfKind(arg: Expr, kind: Kind): boolean {
  const { name } = arg.type;
  if (arg.kind === "literal" && arg.value === null)
    return kind !== "constant text" && kind !== "pattern";
  switch (kind) {
    case "number":
      return isNumeric(name);
    case "integer":
    case "group":
    case "time":
      return isInteger(name);
    case "text":
      return isText(name);
    case "boolean":
      return name === "BOOLEAN";
    case "constant text":
    case "pattern":
      return arg.kind === "literal" && isText(name);
    case "any":
      return true;
  }
}

export function describeKind(kind: Kind): string {
  if (kind === "group") return "the number of a group";
  if (kind === "pattern") return "a regular expression as a constant text";
  return kind === "time"
    ? "a time in milliseconds"
    : `a ${kind}`.replace("a a", "a").replace("a i", "an i");
}

const text = (arg: Expr): Expr => castTo(arg, "VARSIZED");
const float = (arg: Expr): Expr => castTo(arg, "FLOAT64");

function floats(fn: FunctionName, count = 1): FunctionSignature {
  const args = Array.from({ length: count }, () => "number" as const);
  return { args, build: (given) => call(fn, given.map(float), "FLOAT64") };
}

/** Integers stay what they are. */
function rounding(fn: FunctionName): FunctionSignature {
  return {
    args: ["number"],
    build: ([arg]) => {
      if (arg === undefined || isInteger(arg.type.name)) return arg;
      return call(fn, [arg], arg.type.name);
    },
  };
}

function texts(
  fn: FunctionName,
  args: readonly Kind[],
  type: TypeName,
  more: Pick<FunctionSignature, "optional"> & { readonly nullable?: boolean } = {},
): FunctionSignature {
  const { nullable, ...rest } = more;
  return {
    args,
    ...rest,
    build: (given) => {
      const converted = given.map((arg) => {
        if (isText(arg.type.name)) return text(arg);
        return castTo(arg, "INT64");
      });
      return call(fn, converted, type, nullable === true ? true : undefined);
    },
  };
}

function ofTime(fn: FunctionName, type: TypeName = "UINT64"): FunctionSignature {
  return { args: ["time"], build: ([arg]) => arg && call(fn, [castTo(arg, timeType(arg))], type) };
}

function timeType(arg: Expr): TypeName {
  return arg.type.name.startsWith("U") ? "UINT64" : "INT64";
}

/** Signed integers become wider, because the least one has no positive counterpart. */
const widened: ReadonlyMap<TypeName, TypeName> = new Map<TypeName, TypeName>([
  ["INT8", "INT16"],
  ["INT16", "INT32"],
  ["INT32", "INT64"],
]);

function sameType(fn: FunctionName): FunctionSignature {
  return {
    args: ["number"],
    build: ([arg]) => arg && call(fn, [arg], arg.type.name),
  };
}

function unified(
  fn: FunctionName,
  nullable: (args: readonly Expr[]) => boolean,
): FunctionSignature {
  return {
    args: ["any"],
    variadic: true,
    build: (args) => {
      const converted = unify(args);
      return converted && call(fn, converted, (converted[0] as Expr).type.name, nullable(args));
    },
  };
}

/** All in their common type; `undefined` where there is none. NULL takes any type. */
export function unify(args: readonly Expr[]): readonly Expr[] | undefined {
  let type: TypeName | undefined;
  for (const arg of args) {
    if (arg.kind === "literal" && arg.value === null) continue;
    type = type === undefined ? arg.type.name : commonType(type, arg.type.name);
    if (type === undefined) return undefined;
  }
  const common = type ?? "VARSIZED";
  return args.map((arg) => castTo(arg, common));
}

function integers(fn: FunctionName): FunctionSignature {
  return {
    args: ["integer", "integer"],
    build: (args) => {
      const converted = unify(args);
      const type = converted?.[0]?.type.name;
      return converted && type !== undefined && isInteger(type)
        ? call(fn, converted, type)
        : undefined;
    },
  };
}

export const functions: ReadonlyMap<string, FunctionSignature> = new Map<string, FunctionSignature>(
  [
    [
      "ABS",
      {
        args: ["number"],
        build: ([arg]) => {
          if (arg === undefined) return undefined;
          const type = widened.get(arg.type.name) ?? arg.type.name;
          if (type.startsWith("U")) return arg;
          return call("abs", [castTo(arg, type)], type);
        },
      },
    ],
    ["CEIL", rounding("ceil")],
    ["CEILING", rounding("ceil")],
    ["FLOOR", rounding("floor")],
    ["ROUND", rounding("round")],
    ["SQRT", floats("sqrt")],
    ["EXP", floats("exp")],
    ["LN", floats("ln")],
    ["LOG10", floats("log10")],
    ["POW", floats("power", 2)],
    ["POWER", floats("power", 2)],
    ["SIGN", sameType("sign")],
    ["BIT_AND", integers("bit_and")],
    ["BIT_OR", integers("bit_or")],
    ["BIT_XOR", integers("bit_xor")],
    ["COALESCE", unified("coalesce", (args) => args.every((arg) => arg.type.nullable))],
    ["IFNULL", unified("coalesce", (args) => args.every((arg) => arg.type.nullable))],
    ["NULLIF", { ...unified("nullif", () => true), args: ["any", "any"], variadic: false }],
    ["LEAST", unified("least", (args) => args.some((arg) => arg.type.nullable))],
    ["GREATEST", unified("greatest", (args) => args.some((arg) => arg.type.nullable))],
    ["ISNULL", { args: ["any"], build: (args) => call("is_null", args, "BOOLEAN", false) }],
    ["CONCAT", { ...texts("concat", ["text", "text"], "VARSIZED"), variadic: true }],
    ["CHAR_LENGTH", texts("char_length", ["text"], "UINT64")],
    ["LENGTH", texts("char_length", ["text"], "UINT64")],
    ["OCTET_LENGTH", texts("octet_length", ["text"], "UINT64")],
    ["UPPER", texts("upper", ["text"], "VARSIZED")],
    ["LOWER", texts("lower", ["text"], "VARSIZED")],
    ["TRIM", texts("trim", ["text"], "VARSIZED")],
    ["LTRIM", texts("ltrim", ["text"], "VARSIZED")],
    ["RTRIM", texts("rtrim", ["text"], "VARSIZED")],
    ["SUBSTRING", texts("substring", ["text", "integer", "integer"], "VARSIZED", { optional: 1 })],
    ["SUBSTR", texts("substring", ["text", "integer", "integer"], "VARSIZED", { optional: 1 })],
    ["POSITION", texts("position", ["text", "text"], "UINT64")],
    ["STRPOS", texts("position", ["text", "text"], "UINT64")],
    ["REPLACE", texts("replace", ["text", "text", "text"], "VARSIZED")],
    ["STARTS_WITH", texts("starts_with", ["text", "text"], "BOOLEAN")],
    ["ENDS_WITH", texts("ends_with", ["text", "text"], "BOOLEAN")],
    ["CONTAINS", texts("contains", ["text", "text"], "BOOLEAN")],
    ["SPLIT_PART", texts("split_part", ["text", "text", "integer"], "VARSIZED")],
    ["TO_BASE64", texts("to_base64", ["text"], "VARSIZED")],
    ["FROM_BASE64", texts("from_base64", ["text"], "VARSIZED")],
    ["REGEXP_MATCHES", texts("regexp_matches", ["text", "pattern"], "BOOLEAN")],
    ["REGEXP_LIKE", texts("regexp_matches", ["text", "pattern"], "BOOLEAN")],
    [
      "REGEXP_EXTRACT",
      {
        args: ["text", "pattern", "group"],
        optional: 1,
        build: ([arg, pattern, group]) =>
          arg &&
          pattern &&
          call(
            "regexp_extract",
            [text(arg), text(pattern), castTo(group ?? literal("0", "UINT8"), "INT64")],
            "VARSIZED",
            true,
          ),
      },
    ],
    ["REGEXP_REPLACE", texts("regexp_replace", ["text", "pattern", "text"], "VARSIZED")],
    [
      "JSON_EXTRACT",
      texts("json_extract", ["text", "constant text"], "VARSIZED", { nullable: true }),
    ],
    ["TO_TEXT", { args: ["any"], build: ([arg]) => arg && toText(arg) }],
    ["CASTFROMUNIXTS", ofTime("format_iso_time", "VARSIZED")],
    ["FORMAT_TIME", ofTime("format_iso_time", "VARSIZED")],
    ["PARSE_TIME", texts("parse_iso_time", ["text"], "UINT64")],
    ["CASTTOUNIXTS", texts("parse_iso_time", ["text"], "UINT64")],
    ["YEAR_OF", ofTime("year_of")],
    ["MONTH_OF", ofTime("month_of")],
    ["DAY_OF", ofTime("day_of")],
    ["HOUR_OF", ofTime("hour_of")],
    ["MINUTE_OF", ofTime("minute_of")],
    ["SECOND_OF", ofTime("second_of")],
    ["DAY_OF_WEEK", ofTime("day_of_week")],
    [
      "DATE_TRUNC",
      {
        args: ["constant text", "time"],
        build: ([unit, time]) => {
          if (unit?.kind !== "literal" || time === undefined) return undefined;
          const known = ["second", "minute", "hour", "day", "week", "month", "year"];
          const word = String(unit.value).toLowerCase();
          if (!known.includes(word)) return undefined;
          const type = timeType(time);
          return call("date_trunc", [literal(word, "VARSIZED"), castTo(time, type)], type);
        },
      },
    ],
    [
      "HASH",
      { args: ["any"], variadic: true, build: (args) => call("hash64", args, "UINT64", false) },
    ],
  ],
);

export function toText(arg: Expr): Expr {
  return isText(arg.type.name) ? text(arg) : call("to_text", [arg], "VARSIZED");
}

/** Text to a number: strictly, or leaving out what is no part of one. */
export function toNumber(arg: Expr, type: TypeName, lenient: boolean): Expr {
  return call(lenient ? "text_to_number" : "parse_number", [text(arg)], type);
}
