/** Functions of texts and times that are a call of a helper each. */
import {
  DialectError,
  type Expr,
  type FunctionName,
  type TypeName,
} from "../../../language/core/index.ts";
import { convert, toDouble } from "./convert.ts";
import { unlessNull } from "./generate-text.ts";
import { JsonPath } from "./json-path.ts";
import { LikePattern } from "./like-pattern.ts";
import { is64, wrap } from "./representation.ts";
import {
  anyNull,
  asFixed,
  asText,
  fixed,
  type Generate,
  madeText,
  not,
  type Operand,
  type Source,
  spread,
} from "./source.ts";
import { TextPattern } from "./text-pattern.ts";

type Call = Extract<Expr, { readonly kind: "call" }>;
type Make = (source: Source, call: Call, generate: Generate) => Operand;

/** What a helper returns: the text is in the arena, or it is a condition or a small number. */
type Returns = "text" | "condition" | "number";

/** A helper that takes the arguments as they are: texts as three, numbers as doubles. */
function calling(helper: string, returns: Returns): Make {
  return (source, call, generate) => {
    const operands = call.args.map((arg) => generate(source, arg));
    const isNull = anyNull(...operands.map((operand) => operand.isNull));
    return unlessNull(source, isNull, call.type.name, () => {
      const args = operands.map((operand, index) =>
        operand.kind === "text"
          ? spread(operand)
          : toDouble(source, operand.value, call.args[index]?.type.name ?? "FLOAT64"),
      );
      return returned(source, source.helper(helper), args, returns, call.type.name);
    });
  };
}

export function returned(
  source: Source,
  helper: string,
  args: readonly string[],
  returns: Returns,
  type: TypeName,
): Operand {
  if (returns === "text") {
    source.line(`${helper}(${["arena", ...args].join(", ")});`);
    return madeText(source, "false");
  }
  const value = `${helper}(${args.join(", ")})`;
  if (returns === "condition") return fixed(source.local(value));
  return fixed(convert(source, source.local(`${value} | 0`), "INT32", type));
}

/** The halves of a time as two arguments. */
function halvesOf(source: Source, value: string, type: TypeName): readonly string[] {
  const wide = is64(type) ? value : convert(source, value, type, "INT64");
  source.line(`scratch64[0] = ${wide};`);
  return [type === "UINT64" ? "scratchU32[1]" : "scratch32[1]", "scratchU32[0]"];
}

/** A function of one time. */
function ofTime(helper: string, returns: Returns): Make {
  return (source, call, generate) => {
    const [arg] = call.args as [Expr];
    const operand = asFixed(generate(source, arg));
    return unlessNull(source, operand.isNull, call.type.name, () => {
      const halves = halvesOf(source, operand.value, arg.type.name);
      return returned(source, source.helper(helper), halves, returns, call.type.name);
    });
  };
}

/** The constant that an argument is; NULL is `undefined`. */
export function constantText(call: Call, index: number): string | undefined {
  const arg = call.args[index];
  if (arg?.kind === "literal") return arg.value === null ? undefined : String(arg.value);
  throw new DialectError(2006, `argument ${index + 1} of ${call.fn} must be a constant`);
}

const like: Make = (source, call, generate) => {
  const pattern = constantText(call, 1);
  if (pattern === undefined) return fixed("false", "true");
  const text = asText(generate(source, (call.args as [Expr])[0]));
  return unlessNull(source, text.isNull, "BOOLEAN", () => {
    const matcher = source.constant(new LikePattern(pattern));
    return fixed(source.local(`${matcher}.test(${spread(text)})`));
  });
};

const jsonExtract: Make = (source, call, generate) => {
  const path = constantText(call, 1);
  const text = asText(generate(source, (call.args as [Expr])[0]));
  if (path === undefined) return { ...text, isNull: "true" };
  return unlessNull(source, text.isNull, "VARSIZED", () => {
    const extractor = source.constant(new JsonPath(path));
    const found = source.local(`${extractor}.extract(arena, ${spread(text)})`);
    return madeText(source, not(found));
  });
};

const regexpMatches: Make = (source, call, generate) => {
  const pattern = constantText(call, 1);
  if (pattern === undefined) return fixed("false", "true");
  const text = asText(generate(source, (call.args as [Expr])[0]));
  return unlessNull(source, text.isNull, "BOOLEAN", () => {
    const matcher = source.constant(new TextPattern(pattern));
    return fixed(source.local(`${matcher}.test(${spread(text)})`));
  });
};

const regexpExtract: Make = (source, call, generate) => {
  const pattern = constantText(call, 1);
  const [arg, , index] = call.args as [Expr, Expr, Expr];
  const text = asText(generate(source, arg));
  if (pattern === undefined) return { ...text, isNull: "true" };
  const group = asFixed(generate(source, index));
  return unlessNull(source, anyNull(text.isNull, group.isNull), "VARSIZED", () => {
    const matcher = source.constant(new TextPattern(pattern));
    const number = toDouble(source, group.value, index.type.name);
    const found = source.local(`${matcher}.extract(arena, ${spread(text)}, ${number})`);
    return madeText(source, not(found));
  });
};

const regexpReplace: Make = (source, call, generate) => {
  const pattern = constantText(call, 1);
  const [arg, , by] = call.args as [Expr, Expr, Expr];
  const text = asText(generate(source, arg));
  if (pattern === undefined) return { ...text, isNull: "true" };
  const replacement = asText(generate(source, by));
  return unlessNull(source, anyNull(text.isNull, replacement.isNull), "VARSIZED", () => {
    const matcher = source.constant(new TextPattern(pattern));
    source.line(`${matcher}.replace(arena, ${spread(text)}, ${spread(replacement)});`);
    return madeText(source, "false");
  });
};

const parseIsoTime: Make = (source, call, generate) => {
  const text = asText(generate(source, (call.args as [Expr])[0]));
  const type = call.type.name;
  return unlessNull(source, text.isNull, type, () => {
    const signed = type === "UINT64" ? "false" : "true";
    const ms = source.local(`${source.helper("parseTime")}(${spread(text)}, ${signed})`);
    return fixed(convert(source, ms, "FLOAT64", type));
  });
};

/** The units that all have one length, in milliseconds, and the first time a unit begins. */
const units: Readonly<Record<string, readonly [length: bigint, origin: bigint]>> = {
  millisecond: [1n, 0n],
  second: [1_000n, 0n],
  minute: [60_000n, 0n],
  hour: [3_600_000n, 0n],
  day: [86_400_000n, 0n],
  // Weeks begin on Mondays; the first one after 1970-01-01 is the 5th.
  week: [604_800_000n, 345_600_000n],
};

/** A unit that began before 1970 is 0 in UINT64. */
const dateTrunc: Make = (source, call, generate) => {
  const unit = constantText(call, 0)?.toLowerCase();
  if (unit === undefined) return fixed("0n", "true");
  const time = (call.args as [Expr, Expr])[1];
  const operand = asFixed(generate(source, time));
  const value = convert(source, operand.value, time.type.name, call.type.name);
  const type = call.type.name;
  const [length, origin] = units[unit] ?? [];
  let made: string;
  if (length !== undefined) {
    const size = source.constant(length, (name) => wrap(name, "INT64"));
    const shift = source.constant(origin, (name) => wrap(name, "INT64"));
    const signed = source.local(wrap(value, "INT64"));
    const rest = source.local(wrap(`(${signed} - ${shift}) % ${size}`, "INT64"));
    const floor = source.local(`${rest} < 0n ? ${wrap(`${rest} + ${size}`, "INT64")} : ${rest}`);
    made = source.local(wrap(`${signed} - ${floor}`, "INT64"));
  } else if (unit === "month" || unit === "year") {
    const halves = halvesOf(source, value, type);
    const helper = source.helper(unit === "month" ? "daysToMonth" : "daysToYear");
    made = source.local(wrap(`BigInt(${helper}(${halves.join(", ")})) * 86400000n`, "INT64"));
  } else {
    throw new DialectError(2006, `date_trunc has no unit '${unit}'`);
  }
  if (type !== "UINT64") return fixed(convert(source, made, "INT64", type), operand.isNull);
  const clamped = source.local(`${made} < 0n && ${wrap(value, "INT64")} >= 0n ? 0n : ${made}`);
  return fixed(source.local(wrap(clamped, "UINT64")), operand.isNull);
};

export const moreTextFunctions: Partial<Readonly<Record<FunctionName, Make>>> = {
  upper: calling("upperText", "text"),
  lower: calling("lowerText", "text"),
  trim: calling("trimText", "text"),
  ltrim: calling("trimLeft", "text"),
  rtrim: calling("trimRight", "text"),
  substring: calling("substringText", "text"),
  position: calling("positionOfText", "number"),
  replace: calling("replaceText", "text"),
  starts_with: calling("startsWithText", "condition"),
  ends_with: calling("endsWithText", "condition"),
  contains: calling("containsText", "condition"),
  split_part: calling("splitPart", "text"),
  to_base64: calling("toBase64", "text"),
  from_base64: calling("fromBase64", "text"),
  like,
  json_extract: jsonExtract,
  regexp_matches: regexpMatches,
  regexp_extract: regexpExtract,
  regexp_replace: regexpReplace,
  parse_iso_time: parseIsoTime,
  format_iso_time: ofTime("formatTime", "text"),
  year_of: ofTime("yearOfTime", "number"),
  month_of: ofTime("monthOfTime", "number"),
  day_of: ofTime("dayOfTime", "number"),
  hour_of: ofTime("hourOfTime", "number"),
  minute_of: ofTime("minuteOfTime", "number"),
  second_of: ofTime("secondOfTime", "number"),
  day_of_week: ofTime("dayOfWeekOfTime", "number"),
  date_trunc: dateTrunc,
};
