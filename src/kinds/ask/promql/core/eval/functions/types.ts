/**
 * Functions of instant vectors, scalars and strings. Each is evaluated over all steps of a grid at once: columns in,
 * columns out.
 */
import type { EngineOptions } from "../../engine-types.ts";
import type { Labels } from "../../labels.ts";
import type { AnnotationSink, Grid, StepSeries } from "../../model.ts";

export interface InstantContext {
  readonly grid: Grid;
  /**
   * It is evaluated at one time only: in an instant query, or because `@` fixes it. Then the order of a result is what
   * the function makes it.
   */
  readonly instant: boolean;
  /** Places are indexes of the call's arguments, or the call. */
  readonly annotations: AnnotationSink;
  readonly options: EngineOptions;
  /** Counts labels that the function makes: each before the next. Throws where they are too much. */
  readonly make: (labels: Labels) => Labels;
}

export interface VectorArg {
  readonly type: "vector";
  readonly series: readonly StepSeries[];
}
/** One value per step. */
export interface ScalarArg {
  readonly type: "scalar";
  readonly values: Float64Array;
}
export interface StringArg {
  readonly type: "string";
  readonly text: string;
}
export type InstantArg = VectorArg | ScalarArg | StringArg;

export type InstantResult =
  | { readonly type: "vector"; readonly series: readonly StepSeries[] }
  | { readonly type: "scalar"; readonly values: Float64Array };

/**
 * Series of a result may have the same labels, and whoever calls merges or refuses them: names may still tell them
 * apart. Optional arguments may be missing at the end. Throws `PromqlError` ("execution") when the data or a label is at fault.
 * A result's columns may be those of an argument: nobody writes to either.
 */
export type InstantFunction = (
  args: readonly InstantArg[],
  context: InstantContext,
) => InstantResult;
