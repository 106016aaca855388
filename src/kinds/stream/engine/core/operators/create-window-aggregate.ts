/** Window aggregation by the kind of its window. */
import type { Schema, WindowAggregateOp } from "../../../language/core/index.ts";
import type { Operator, OperatorContext } from "../operator.ts";
import { SessionAggregate } from "./session-aggregate.ts";
import { SlicedAggregate } from "./window-aggregate.ts";

export function createWindowAggregate(
  op: WindowAggregateOp,
  [input = []]: readonly Schema[],
  output: Schema,
  context: OperatorContext,
): Operator {
  const { window } = op;
  if (window.kind === "session") {
    return new SessionAggregate(op, window.gapMs, input, output, context);
  }
  return new SlicedAggregate(op, window, input, output, context);
}
