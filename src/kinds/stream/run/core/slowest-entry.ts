/**
 * Which entry of a fragment holds back the watermark of what leaves it: the way goes up from the
 * sink or sender with the least watermark, by the slowest input of each operator. Pure.
 */
import { endOfTime, type Fragment } from "../../engine/core/index.ts";
import type { PlanNode } from "../../language/core/index.ts";
import type { SlowestEntry } from "./progress.ts";
import type { FragmentSpec } from "./stream-host.ts";

/** `undefined`: all inputs have ended, or several sources together set the time. */
export function findSlowestEntry(
  { nodes, in: receives }: Pick<FragmentSpec, "nodes" | "in">,
  fragment: Pick<Fragment, "counts" | "slowestInput">,
): SlowestEntry | undefined {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  let at = slowestLeaving(nodes, fragment);
  while (at !== undefined && at.inputs.length > 0) {
    if (at.op.kind === "eventTime") return onlySource(sourcesOf(at, byId));
    at = byId.get(at.inputs[fragment.slowestInput(at.id)]?.node ?? -1);
  }
  if (at?.op.kind === "source") return { kind: "source", name: at.op.name };
  const from = at && receives.get(at.id)?.[fragment.slowestInput(at.id)];
  return from && { kind: "fragment", fragment: from.fragment };
}

function slowestLeaving(
  nodes: readonly PlanNode[],
  fragment: Pick<Fragment, "counts">,
): PlanNode | undefined {
  let slowest: PlanNode | undefined;
  let least = endOfTime;
  for (const node of nodes) {
    const leaves = node.op.kind === "sink" || node.op.kind === "exchange";
    if (!leaves || node.inputs.length === 0) continue;
    const { watermark } = fragment.counts(node.id);
    if (watermark >= least) continue;
    least = watermark;
    slowest = node;
  }
  return slowest;
}

/** The names of the sources whose rows reach the node; of a receiver nobody knows them here. */
function sourcesOf(node: PlanNode, byId: ReadonlyMap<number, PlanNode>): readonly string[] {
  if (node.op.kind === "source") return [node.op.name];
  if (node.op.kind === "exchange") return [];
  return node.inputs.flatMap((input) => {
    const before = byId.get(input.node);
    return before === undefined ? [] : sourcesOf(before, byId);
  });
}

function onlySource(names: readonly string[]): SlowestEntry | undefined {
  const [name, ...others] = new Set(names);
  return name === undefined || others.length > 0 ? undefined : { kind: "source", name };
}
