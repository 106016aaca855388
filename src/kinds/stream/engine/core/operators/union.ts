/** UNION ALL: the rows of all inputs, as they come. The fragment combines the watermarks. */
import type { PlanOp, Schema } from "../../../language/core/index.ts";
import type { Operator, OperatorContext } from "../operator.ts";

export function createUnion(
  _op: Extract<PlanOp, { readonly kind: "union" }>,
  _inputs: readonly Schema[],
  _output: Schema,
  context: OperatorContext,
): Operator {
  return { push: (_input, batch) => context.emit(batch) };
}
