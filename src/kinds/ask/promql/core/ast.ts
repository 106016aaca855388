/**
 * A PromQL expression, as parsed and checked. Durations are milliseconds, or expressions until they
 * are resolved.
 */
import type { Matcher } from "./leaf.ts";
import type { Position } from "./model.ts";

export type ValueType = "scalar" | "vector" | "matrix" | "string";

interface Node {
  readonly position: Position;
}

export interface NumberLiteral extends Node {
  readonly kind: "number";
  readonly value: number;
  /** Whether it was written as a duration (`5m`), and is printed as one. */
  readonly isDuration: boolean;
}
export interface StringLiteral extends Node {
  readonly kind: "string";
  readonly value: string;
}

/** A duration that depends on the query's step or range, e.g. `[step() * 2]`. */
export type DurationExpr =
  | {
      readonly kind: "duration";
      /** The value to use: the seconds in whole milliseconds. */
      readonly ms: number;
      /** The value as written, which expressions compute with, such as the 2 of `[5m * 2]`. */
      readonly seconds: number;
      /**
       * Whether it was written as a duration (`5m`), and is printed as one within an expression.
       */
      readonly isDuration: boolean;
      readonly position: Position;
    }
  | {
      readonly kind: "durationCall";
      readonly name: "step" | "range" | "min_of" | "max_of";
      readonly args: readonly DurationExpr[];
      /** Whether it is in parentheses. */
      readonly wrapped: boolean;
      readonly position: Position;
    }
  | {
      readonly kind: "durationUnary";
      readonly op: "+" | "-";
      readonly operand: DurationExpr;
      readonly wrapped: boolean;
      readonly position: Position;
    }
  | {
      readonly kind: "durationBinary";
      readonly op: "+" | "-" | "*" | "/" | "%" | "^";
      readonly left: DurationExpr;
      readonly right: DurationExpr;
      readonly wrapped: boolean;
      readonly position: Position;
    };

/** The time that `@` fixes: written in seconds, kept in milliseconds. */
export type AtModifier =
  | { readonly kind: "at"; readonly ms: number }
  | { readonly kind: "start" }
  | { readonly kind: "end" };

export interface VectorSelector extends Node {
  readonly kind: "vectorSelector";
  /** The name before the braces, or undefined. The matchers also have it, as `__name__`. */
  readonly name: string | undefined;
  readonly matchers: readonly Matcher[];
  readonly offset: DurationExpr | undefined;
  readonly at: AtModifier | undefined;
  readonly bounds: "anchored" | "smoothed" | undefined;
}
export interface MatrixSelector extends Node {
  readonly kind: "matrixSelector";
  readonly vector: VectorSelector;
  readonly range: DurationExpr;
}
export interface Subquery extends Node {
  readonly kind: "subquery";
  readonly expr: Expr;
  readonly range: DurationExpr;
  /** Undefined when the engine's default applies. */
  readonly step: DurationExpr | undefined;
  readonly offset: DurationExpr | undefined;
  readonly at: AtModifier | undefined;
}
export interface Call extends Node {
  readonly kind: "call";
  readonly name: string;
  readonly args: readonly Expr[];
}
/** Computes one value from the floats of a group. */
export type FloatAggregation =
  | "sum"
  | "avg"
  | "count"
  | "min"
  | "max"
  | "group"
  | "stddev"
  | "stdvar";
/** Keeps whole samples of a group. */
export type SelectOp = "topk" | "bottomk" | "limitk" | "limit_ratio";
export type AggregateOp = FloatAggregation | SelectOp | "count_values" | "quantile";
export interface Aggregate extends Node {
  readonly kind: "aggregate";
  readonly op: AggregateOp;
  readonly expr: Expr;
  readonly param: Expr | undefined;
  readonly grouping: readonly string[];
  readonly without: boolean;
  /** Whether `by` or `without` was written. */
  readonly grouped: boolean;
}
export interface Unary extends Node {
  readonly kind: "unary";
  readonly op: "+" | "-";
  readonly expr: Expr;
}
export interface Paren extends Node {
  readonly kind: "paren";
  readonly expr: Expr;
}
export type ArithmeticOp = "+" | "-" | "*" | "/" | "%" | "^" | "atan2";
export type ComparisonOp = "==" | "!=" | ">" | "<" | ">=" | "<=";
export type SetOp = "and" | "or" | "unless";
export type TrimOp = "</" | ">/";
export type BinaryOp = ArithmeticOp | ComparisonOp | SetOp | TrimOp;
/** How the two sides of a vector operation are matched. */
export interface VectorMatching {
  readonly card: "one-to-one" | "many-to-one" | "one-to-many" | "many-to-many";
  readonly labels: readonly string[];
  readonly on: boolean;
  /** Labels of the "one" side that the result takes over. */
  readonly include: readonly string[];
  /** Values of `fill`, `fill_left` and `fill_right` for samples without a partner. */
  readonly fillLeft: number | undefined;
  readonly fillRight: number | undefined;
}
export interface Binary extends Node {
  readonly kind: "binary";
  readonly op: BinaryOp;
  readonly left: Expr;
  readonly right: Expr;
  readonly returnBool: boolean;
  /** Only between two vectors. */
  readonly matching: VectorMatching | undefined;
}

export type Expr =
  | NumberLiteral
  | StringLiteral
  | VectorSelector
  | MatrixSelector
  | Subquery
  | Call
  | Aggregate
  | Unary
  | Paren
  | Binary;
