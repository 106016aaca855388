/**
 * Functions of instant vectors, scalars and strings. Each computes all steps of a grid at once:
 * columns in, columns out.
 */
import type { EngineOptions } from "../../engine-types.ts";
import type { Labels } from "../../labels.ts";
import type { AnnotationSink, Grid } from "../../model.ts";
import type { MatrixValue, NodeValue, ScalarValue, VectorValue } from "../exec-node.ts";

export interface InstantContext {
  readonly grid: Grid;
  /** Whether there is one step only. Then the function decides the order of its result. */
  readonly instant: boolean;
  /** Places are indexes of the call's arguments, or the call itself. */
  readonly annotations: AnnotationSink;
  readonly options: EngineOptions;
  /** Counts each label set that the function creates. Throws when there are too many. */
  readonly make: (labels: Labels) => Labels;
}

export type InstantArg = Exclude<NodeValue, MatrixValue>;
export type InstantResult = VectorValue | ScalarValue;

/**
 * Result series may have equal labels, which the caller merges or refuses, because names may still
 * differ. Optional arguments may be missing at the end. Throws `PromqlError` ("execution") for bad
 * data or labels. Results may share columns with arguments, so neither is written to.
 */
export type InstantFunction = (
  args: readonly InstantArg[],
  context: InstantContext,
) => InstantResult;
