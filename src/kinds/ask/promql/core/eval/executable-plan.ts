/**
 * A plan with its evaluation tree. Only the leaves are sent to workers; the tree stays in this
 * thread.
 */
import { assert } from "../../../../../ground/kernel/errors.ts";
import type { EngineOptions, QueryPlan } from "../engine-types.ts";
import type { Grid } from "../model.ts";
import { ExecNode } from "./exec-node.ts";

/** What EXPLAIN shows of a leaf. */
export interface LeafExplanation {
  readonly text: string;
  readonly why: string;
}

export interface ExecutablePlan extends QueryPlan {
  readonly options: EngineOptions;
  /** The steps of its result. */
  readonly grid: Grid;
  readonly explanations: readonly LeafExplanation[];
  readonly root: ExecNode;
}

/** The plan with its tree, which it has in the thread that made it. */
export function executablePlan(plan: QueryPlan): ExecutablePlan {
  const { root } = plan as Partial<ExecutablePlan>;
  assert(root instanceof ExecNode, "a plan is used by the thread that made it");
  return plan as ExecutablePlan;
}
