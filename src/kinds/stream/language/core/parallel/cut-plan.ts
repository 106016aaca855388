/**
 * Cuts a plan at its exchanges into stages. The operators of a stage run together; an exchange is a
 * node of the stages that send to it, with its input there, and of the one that receives from it,
 * without inputs. Rule: SY92.
 */
import { deadLetterNode } from "../bind/dead-letters.ts";
import type { Plan, PlanNode } from "../plan.ts";

export interface Stage {
  readonly id: number;
  readonly nodes: readonly PlanNode[];
  /** The exchanges that it receives from, by node. */
  readonly receives: readonly number[];
  /** The exchanges that it sends to, by node. */
  readonly sends: readonly number[];
  /** A stage whose exchanges all have keys may have several instances; any other has one. */
  readonly isParallel: boolean;
}

export function cutPlan({ nodes }: Plan): readonly Stage[] {
  const groups = new Groups(nodes.length);
  for (const one of nodes) {
    const { id, op, inputs } = one;
    if (op.kind === "exchange") continue;
    for (const { node } of inputs) groups.join(id, node);
    const deadLetters = deadLetterNode(nodes, one);
    if (deadLetters !== undefined) groups.join(id, deadLetters);
  }
  const byGroup = new Map<number, PlanNode[]>();
  const put = (group: number, node: PlanNode): void => {
    const list = byGroup.get(group);
    if (list === undefined) byGroup.set(group, [node]);
    else list.push(node);
  };
  for (const node of nodes) {
    if (node.op.kind !== "exchange") {
      put(groups.of(node.id), node);
      continue;
    }
    const bySender = Map.groupBy(node.inputs, (input) => groups.of(input.node));
    for (const [group, inputs] of bySender) put(group, { ...node, inputs });
    put(groups.of(node.id), { ...node, inputs: [] });
  }
  return [...byGroup.values()].map((members, id) => stageOf(id, members));
}

function stageOf(id: number, nodes: readonly PlanNode[]): Stage {
  const exchanges = nodes.filter(({ op }) => op.kind === "exchange");
  const receives = exchanges.filter(({ inputs }) => inputs.length === 0);
  const hasKeys = ({ op }: PlanNode): boolean => op.kind === "exchange" && op.keys.length > 0;
  return {
    id,
    nodes,
    receives: receives.map((node) => node.id),
    sends: exchanges.filter(({ inputs }) => inputs.length > 0).map((node) => node.id),
    isParallel:
      receives.length > 0 &&
      receives.every(hasKeys) &&
      nodes.every(({ op }) => op.kind !== "source"),
  };
}

/** Nodes that are connected, directly or by others. */
class Groups {
  readonly #parents: number[];

  constructor(count: number) {
    this.#parents = Array.from({ length: count }, (_, id) => id);
  }

  of(id: number): number {
    let group = id;
    for (;;) {
      const parent = this.#parents[group] ?? group;
      if (parent === group) return group;
      group = parent;
    }
  }

  join(one: number, other: number): void {
    const [a, b] = [this.of(one), this.of(other)];
    this.#parents[Math.max(a, b)] = Math.min(a, b);
  }
}
