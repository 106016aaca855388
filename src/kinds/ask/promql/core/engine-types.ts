/** The parameters and the result of a query. */
import type { ValueType } from "./ast.ts";
import type { BaseExpr } from "./leaf.ts";
import type { Annotation, Grid, Position, RawSeries, StepSeries } from "./model.ts";

/** The query's text is wrong, or it cannot be evaluated. The message is Prometheus's. */
export class PromqlError extends Error {
  override readonly name = "PromqlError";
  /**
   * `parse` is about the text (HTTP 400 bad_data), `execution` about the data (HTTP 422 execution).
   */
  readonly stage: "parse" | "execution";
  readonly position: Position | undefined;

  constructor(stage: PromqlError["stage"], message: string, position?: Position) {
    super(message);
    this.stage = stage;
    this.position = position;
  }
}

export interface EngineOptions {
  readonly lookbackMs: number;
  /** The step of a subquery without one. */
  readonly subqueryStepMs: number;
  /** Limit of samples in memory at any time, as Prometheus counts them. */
  readonly samplesMax: number;
  /** Limit of labels in memory at any time, in characters. */
  readonly labelBytesMax: number;
  /** Limit of what subqueries evaluate for each series: samples in windows, and steps. */
  readonly stepsMax: number;
  /** Limit of matchers of all selectors together. */
  readonly matchersMax: number;
  readonly delayedNameRemoval: boolean;
  readonly useStartTs: boolean;
  /** `"full"` lets workers compute and aggregate leaves; `"raw"` never does, for comparison. */
  readonly pushdown: "full" | "raw";
}

export const defaultEngineOptions: EngineOptions = {
  lookbackMs: 300_000,
  subqueryStepMs: 60_000,
  samplesMax: 50_000_000,
  labelBytesMax: Number.MAX_SAFE_INTEGER,
  stepsMax: Number.POSITIVE_INFINITY,
  matchersMax: Number.POSITIVE_INFINITY,
  delayedNameRemoval: true,
  useStartTs: true,
  pushdown: "full",
};

export interface QueryParams {
  /** Whether it is an instant query: it has one step, and a vector as its result. */
  readonly instant: boolean;
  /** The steps of the whole query. For an instant query, `step()` is 0. */
  readonly grid: Grid;
  /** The consecutive steps of `grid` that this plan computes. All when absent. */
  readonly span?: Grid;
}

export interface QueryPlan {
  readonly params: QueryParams;
  readonly resultType: ValueType;
  /** Distinct leaves: parts of the query that read the same thing share one. */
  readonly leaves: readonly BaseExpr[];
  /** Whether the query may be computed in spans of its steps. */
  readonly divisible: boolean;
  readonly annotations: readonly Annotation[];
}

export type QueryResult = { readonly annotations: readonly Annotation[] } & (
  | { readonly type: "scalar"; readonly grid: Grid; readonly values: Float64Array }
  | { readonly type: "string"; readonly text: string }
  /**
   * Values at the plan's steps, without removed names. An instant query's series are in the order
   * that the query asks for, a range query's in label order.
   */
  | { readonly type: "vector"; readonly grid: Grid; readonly series: readonly StepSeries[] }
  /** The result of an instant query for a range vector. */
  | { readonly type: "matrix"; readonly series: readonly RawSeries[] }
);
