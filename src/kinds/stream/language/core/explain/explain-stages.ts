/** A plan in its parts: which operators run together, and what goes from one part to another. */
import { cutPlan, type Stage } from "../parallel/cut-plan.ts";
import type { Plan, PlanNode } from "../plan.ts";
import { type ExplainedNode, explainPlan, formatTrees } from "./explain-plan.ts";

export interface ExplainedStage {
  readonly stage: number;
  /** Whether it runs in as many instances as the query's PARALLELISM says, or in one. */
  readonly parallel: boolean;
  readonly receives: readonly { readonly exchange: number; readonly from: readonly number[] }[];
  readonly sends: readonly { readonly exchange: number; readonly to: number }[];
  readonly nodes: readonly ExplainedNode[];
}

/** Of a plan with exchanges. */
export function explainStages(plan: Plan): readonly ExplainedStage[] {
  const stages = cutPlan(plan);
  const { nodes } = explainPlan(plan);
  const sendersOf = (exchange: number): number[] =>
    stages.filter(({ sends }) => sends.includes(exchange)).map(({ id }) => id);
  const receiverOf = (exchange: number): number =>
    stages.findIndex(({ receives }) => receives.includes(exchange));
  return stages.map((stage) => ({
    stage: stage.id,
    parallel: stage.isParallel,
    receives: stage.receives.map((exchange) => ({ exchange, from: sendersOf(exchange) })),
    sends: stage.sends.map((exchange) => ({ exchange, to: receiverOf(exchange) })),
    nodes: stage.nodes.map((node) => nodeOf(node, nodes, stage)),
  }));
}

function nodeOf(node: PlanNode, all: readonly ExplainedNode[], { receives }: Stage): ExplainedNode {
  const explained = all[node.id] as ExplainedNode;
  const isReceiver = receives.includes(node.id) && node.inputs.length === 0;
  return { ...explained, inputs: isReceiver ? [] : node.inputs };
}

/** Each stage as trees from what leaves it. */
export function formatStages(stages: readonly ExplainedStage[]): string {
  return stages
    .map(({ stage, parallel, receives, sends, nodes }) => {
      const count = parallel ? "PARALLELISM instances" : "1 instance";
      const byId = new Map(
        nodes.map((node) => {
          const received = receives.find(({ exchange }) => exchange === node.id);
          const sent = sends.find(({ exchange }) => exchange === node.id);
          if (received !== undefined) {
            return [node.id, { ...node, text: `${node.text} from ${stageNames(received.from)}` }];
          }
          if (sent === undefined) return [node.id, node];
          return [node.id, { ...node, text: `${node.text} to stage ${sent.to}` }];
        }),
      );
      const read = new Set(nodes.flatMap(({ inputs }) => inputs.map(({ node }) => node)));
      const roots = nodes.map(({ id }) => id).filter((id) => !read.has(id));
      return `stage ${stage} (${count})\n${formatTrees(byId, roots, 1)}`;
    })
    .join("\n");
}

function stageNames(ids: readonly number[]): string {
  return `${ids.length === 1 ? "stage" : "stages"} ${ids.join(", ")}`;
}
