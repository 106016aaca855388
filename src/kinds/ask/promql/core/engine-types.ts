/** What a query is asked with, and what it answers. */
import type { ValueType } from "./ast.ts";
import type { BaseExpr } from "./leaf.ts";
import type { Annotation, Grid, Position, RawSeries, StepSeries } from "./model.ts";

/** The query's text is wrong, or cannot be evaluated. The message is Prometheus's. */
export class PromqlError extends Error {
  override readonly name = "PromqlError";
  /** `parse`: the text (HTTP 400 bad_data). `execution`: the data (HTTP 422 execution). */
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
  /** The step of a subquery that names none. */
  readonly subqueryStepMs: number;
  /** Samples in memory at any time, as Prometheus counts them. */
  readonly samplesMax: number;
  /** Of labels in memory at any time, in characters. */
  readonly labelBytesMax: number;
  /**
   * What subqueries make a query evaluate for each series: samples in windows, and steps of their
   * own.
   */
  readonly stepsMax: number;
  /** Of all selectors together. */
  readonly matchersMax: number;
  readonly delayedNameRemoval: boolean;
  readonly useStartTs: boolean;
  /** `"steps"`: leaves may be computed and aggregated where the data is. `"raw"`: never, for comparison. */
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
  /** An instant query has one step and `instant`: its result is a vector instead of a matrix. */
  readonly instant: boolean;
  /** The whole query: what `start()`, `end()`, `range()` and `step()` mean. An instant query's step is 0 to those. */
  readonly grid: Grid;
  /** The steps that this plan computes: a run of consecutive steps of `grid`. Absent: all. */
  readonly span?: Grid;
}

export interface QueryPlan {
  readonly params: QueryParams;
  readonly resultType: ValueType;
  /** Different ones; whatever reads the same thing shares one. */
  readonly leaves: readonly BaseExpr[];
  /** False: the answer's spans would not be the answer, so it is to be computed whole. */
  readonly divisible: boolean;
  readonly annotations: readonly Annotation[];
}

export type QueryResult = { readonly annotations: readonly Annotation[] } & (
  | { readonly type: "scalar"; readonly grid: Grid; readonly values: Float64Array }
  | { readonly type: "string"; readonly text: string }
  /**
   * Of the plan's steps. Names are removed. Of an instant query: in the order that the query asks for; of a range query:
   * in the order of the labels.
   */
  | { readonly type: "vector"; readonly grid: Grid; readonly series: readonly StepSeries[] }
  /** Of an instant query whose expression is a range vector. */
  | { readonly type: "matrix"; readonly series: readonly RawSeries[] }
);
