/** A plan for people: `EXPLAIN` as data, which is its JSON form, and as text. */
import { hashPlan } from "../check-plan.ts";
import type { Plan, PlanInput, PlanNode, QuerySettings } from "../plan.ts";
import { describeOp } from "./describe-op.ts";

export interface ExplainedNode {
  readonly id: number;
  readonly kind: string;
  readonly text: string;
  readonly inputs: readonly PlanInput[];
  readonly columns: readonly string[];
  readonly state?: string;
  readonly warning?: string;
}

export interface Explanation {
  readonly hash: string;
  readonly settings: QuerySettings;
  readonly nodes: readonly ExplainedNode[];
  readonly warnings: readonly string[];
}

export function explainPlan(plan: Plan): Explanation {
  const nodes = plan.nodes.map((node): ExplainedNode => {
    const schemas = node.inputs.map(({ node: id, isLate }) =>
      isLate ? node.schema : (plan.nodes[id] as PlanNode).schema,
    );
    const { text, state, warning } = describeOp(node.op, schemas);
    const columns = node.schema.map(
      ({ name, type }) => `${name} ${type.name}${type.nullable ? "" : " NOT NULL"}`,
    );
    return {
      ...{ id: node.id, kind: node.op.kind, text, inputs: node.inputs, columns },
      ...(state === undefined ? {} : { state }),
      ...(warning === undefined ? {} : { warning }),
    };
  });
  const warnings = nodes.flatMap(({ warning, text }) =>
    warning === undefined ? [] : [`${text}: ${warning}`],
  );
  return { hash: hashPlan(plan), settings: plan.settings, nodes, warnings };
}

/** A tree from each sink down. A node that was shown above is only named again. */
export function formatExplanation({ nodes, warnings }: Explanation): string {
  const sinks = nodes.filter(({ kind }) => kind === "sink").map(({ id }) => id);
  const trees = formatTrees(new Map(nodes.map((node) => [node.id, node])), sinks, 0);
  return [trees, ...warnings.map((warning) => `Warning: ${warning}`)].join("\n");
}

/** Trees from these nodes down, each line behind `depth` steps at least. */
export function formatTrees(
  nodes: ReadonlyMap<number, ExplainedNode>,
  roots: readonly number[],
  depth: number,
): string {
  const lines: string[] = [];
  const shown = new Set<number>();
  const show = ({ node: id, shiftMs, isLate }: PlanInput, at: number): void => {
    const node = nodes.get(id) as ExplainedNode;
    const indent = "  ".repeat(Math.min(at, 40));
    const time = shiftMs === 0 ? "" : ` [time less ${shiftMs} ms]`;
    const shift = isLate ? " [rows that come too late]" : time;
    if (shown.has(id)) {
      lines.push(`${indent}#${id}${shift} as above`);
      return;
    }
    shown.add(id);
    const state = node.state === undefined ? "" : ` | state: ${node.state}`;
    lines.push(`${indent}#${id} ${node.text}${shift}${state}`);
    for (const input of node.inputs) show(input, at + 1);
  };
  for (const id of roots) show({ node: id, shiftMs: 0 }, depth);
  return lines.join("\n");
}
