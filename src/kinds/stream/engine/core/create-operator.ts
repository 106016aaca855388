/** The operator of a plan's node. Sources, sinks and exchanges are their host's. */
import { AssertionError } from "../../../../ground/kernel/errors.ts";
import type { PlanNode, Schema } from "../../language/core/index.ts";
import { compilePredicate } from "./expressions/compile-predicate.ts";
import { compileProjection } from "./expressions/compile-projection.ts";
import type { Operator, OperatorContext } from "./operator.ts";
import { createWindowAggregate } from "./operators/create-window-aggregate.ts";
import { createEventTime } from "./operators/event-time.ts";
import { createIntervalJoin } from "./operators/interval-join.ts";
import { createKeyed } from "./operators/keyed.ts";
import { createLookupJoin } from "./operators/lookup-join.ts";
import { PartialAggregate } from "./operators/partial-aggregate.ts";
import { createTopN } from "./operators/top-n.ts";
import { createUnion } from "./operators/union.ts";
import { createWindowJoin } from "./operators/window-join.ts";

export function createOperator(
  { op, schema }: PlanNode,
  inputs: readonly Schema[],
  context: OperatorContext,
): Operator {
  const [input = []] = inputs;
  switch (op.kind) {
    case "filter": {
      const filter = compilePredicate(op.predicate, input);
      return { push: (_, batch) => context.emit(filter(batch)) };
    }
    case "project": {
      const project = compileProjection(op.exprs, input);
      return { push: (_, batch) => context.emit(project(batch)) };
    }
    case "union":
      return createUnion(op, inputs, schema, context);
    case "eventTime":
      return createEventTime(op, inputs, schema, context);
    case "windowAggregate":
      return createWindowAggregate(op, inputs, schema, context);
    case "partialAggregate":
      return new PartialAggregate(op, input, schema, context);
    case "windowJoin":
      return createWindowJoin(op, inputs, schema, context);
    case "intervalJoin":
      return createIntervalJoin(op, inputs, schema, context);
    case "lookupJoin":
      return createLookupJoin(op, inputs, schema, context);
    case "topN":
      return createTopN(op, inputs, schema, context);
    case "keyed":
      return createKeyed(op, inputs, schema, context);
    case "source":
    case "sink":
    case "exchange":
      throw new AssertionError(`a host opens what is at the edge of a fragment: ${op.kind}`);
  }
}
