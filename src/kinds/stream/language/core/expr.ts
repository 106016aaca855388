/**
 * Expressions after binding: columns are indexes, every conversion is written out, and the
 * arguments of an operator have the types that its entry below asks for. They are plain JSON, so
 * that plans can be stored and sent.
 */
import type { DataType } from "./data-type.ts";

/**
 * A constant. Integers are decimal text, because JSON has no 64-bit ones; FLOAT values that JSON
 * does not have are the texts `NaN`, `Infinity` and `-Infinity`.
 */
export type Constant = string | number | boolean | null;

export type Expr =
  | { readonly kind: "column"; readonly index: number; readonly type: DataType }
  | { readonly kind: "literal"; readonly value: Constant; readonly type: DataType }
  /** Converts by the rules of C++: integers wrap, floats are cut towards zero. */
  | { readonly kind: "cast"; readonly arg: Expr; readonly type: DataType }
  | {
      readonly kind: "call";
      readonly fn: FunctionName;
      readonly args: readonly Expr[];
      readonly type: DataType;
    }
  /** The first branch whose condition is true; NULL where there is none and no `otherwise`. */
  | {
      readonly kind: "case";
      readonly branches: readonly { readonly when: Expr; readonly then: Expr }[];
      readonly otherwise: Expr | undefined;
      readonly type: DataType;
    };

/**
 * The functions that the engine computes. Arithmetic and comparisons have two arguments of the
 * same type, arithmetic gives that type; NULL in, NULL out, but for those that say otherwise.
 */
export type FunctionName =
  | "add"
  | "subtract"
  | "multiply"
  | "divide"
  | "modulo"
  | "negate"
  | "equal"
  | "not_equal"
  | "less"
  | "less_equal"
  | "greater"
  | "greater_equal"
  /** `<=>`: two NULLs are equal, and the result is never NULL. */
  | "null_safe_equal"
  /** Three-valued logic. */
  | "and"
  | "or"
  | "not"
  /** Never NULL. */
  | "is_null"
  | "is_not_null"
  | "is_nan"
  /** The first argument that is not NULL; all have one type. */
  | "coalesce"
  /** NULL where both are equal, else the first. */
  | "nullif"
  | "abs"
  | "ceil"
  | "floor"
  | "round"
  | "sqrt"
  | "exp"
  | "ln"
  | "log10"
  | "power"
  | "sign"
  | "least"
  | "greatest"
  | "bit_and"
  | "bit_or"
  | "bit_xor"
  | "shift_left"
  | "shift_right"
  /** Texts. Lengths and positions are UINT64, counted from 1 in characters. */
  | "concat"
  | "char_length"
  | "octet_length"
  | "upper"
  | "lower"
  | "trim"
  | "ltrim"
  | "rtrim"
  | "substring"
  | "position"
  | "replace"
  | "starts_with"
  | "ends_with"
  | "contains"
  | "split_part"
  | "to_base64"
  | "from_base64"
  /** The second argument is a constant pattern. */
  | "like"
  /** The second argument is a constant pattern of RE2. */
  | "regexp_matches"
  | "regexp_extract"
  | "regexp_replace"
  /** The second argument is a constant path; VARSIZED, or NULL where the path leads nowhere. */
  | "json_extract"
  /** Text to number by leaving out what is no part of a number (`CASTTOTYPE`; error 4003). */
  | "text_to_number"
  /** Text to number, strictly (`CAST`; error 4003). */
  | "parse_number"
  | "to_text"
  /** Milliseconds since 1970 from ISO 8601 text, and back. */
  | "parse_iso_time"
  | "format_iso_time"
  /** Of milliseconds since 1970, in UTC. */
  | "year_of"
  | "month_of"
  | "day_of"
  | "hour_of"
  | "minute_of"
  | "second_of"
  | "day_of_week"
  /** `date_trunc(unit, time)`: the first argument is a constant. */
  | "date_trunc"
  | "hash64";
