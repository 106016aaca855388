/** What EXPLAIN shows of a plan. */
import { assert } from "../../../../../ground/kernel/errors.ts";
import type { QueryPlan } from "../engine-types.ts";
import type { ExecNode } from "../eval/exec-node.ts";
import { ExecutablePlan } from "../eval/executable-plan.ts";
import type { LeafOutput } from "../leaf.ts";

export interface ExplainedLeaf {
  readonly text: string;
  readonly output: LeafOutput["kind"];
  readonly why: string;
}

export interface ExplainedPlan {
  /** In the order of the plan's leaves. */
  readonly leaves: readonly ExplainedLeaf[];
  /** One line per node, with its inputs indented below it. */
  readonly tree: string;
}

export function explainPlan(plan: QueryPlan): ExplainedPlan {
  assert(plan instanceof ExecutablePlan, "a plan is explained by the thread that made it");
  const leaves = plan.leaves.map(({ output }, index) => ({
    text: plan.explanations[index]?.text ?? "",
    output: output.kind,
    why: plan.explanations[index]?.why ?? "",
  }));
  return { leaves, tree: treeLines(plan.root, 0).join("\n") };
}

function treeLines(node: ExecNode, depth: number): string[] {
  const line = `${"  ".repeat(depth)}${node.describe()}`;
  return [line, ...node.children().flatMap((child) => treeLines(child, depth + 1))];
}
