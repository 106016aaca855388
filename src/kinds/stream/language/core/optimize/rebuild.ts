/** Makes a plan anew, node by node, inputs first. Equal nodes become one. */
import { Graph } from "../bind/graph.ts";
import type { Plan, PlanInput, PlanNode } from "../plan.ts";

/** `make` adds what stands for a node, whose inputs are given as they are now. */
export function rebuild(
  plan: Plan,
  make: (graph: Graph, node: PlanNode, inputs: readonly PlanInput[]) => number,
): Plan {
  const graph = new Graph();
  const places: number[] = [];
  const roots: number[] = [];
  for (const node of plan.nodes) {
    const inputs = node.inputs.map(({ node: id, shiftMs }) => ({
      node: places[id] as number,
      shiftMs,
    }));
    const place = make(graph, node, inputs);
    places.push(place);
    if (node.op.kind === "sink") roots.push(place);
  }
  const { nodes, places: final } = graph.extract(roots);
  const { lateSink } = plan.settings;
  const moved = lateSink === undefined ? undefined : final.get(places[lateSink] as number);
  return { ...plan, nodes, settings: { ...plan.settings, lateSink: moved } };
}
