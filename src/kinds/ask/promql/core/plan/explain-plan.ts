/** What EXPLAIN shows of a plan. */
import type { QueryPlan } from "../engine-types.ts";
import type { ExecNode } from "../eval/exec-node.ts";
import { executablePlan } from "../eval/executable-plan.ts";
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
  const { leaves, explanations, root } = executablePlan(plan);
  const explained = leaves.map(({ output }, index) => ({
    text: explanations[index]?.text ?? "",
    output: output.kind,
    why: explanations[index]?.why ?? "",
  }));
  return { leaves: explained, tree: treeLines(root, 0).join("\n") };
}

function treeLines(node: ExecNode, depth: number): string[] {
  const line = `${"  ".repeat(depth)}${node.text}`;
  return [line, ...node.inputs.flatMap((child) => treeLines(child, depth + 1))];
}
