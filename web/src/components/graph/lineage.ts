/** Paths through the graph. Pure. */
import type { GraphLayout, PlacedEdge, PlacedNode } from "./graph-layout.ts";

/** The node, all nodes that it is made from, and all that are made from it. */
export function lineageOf(
  edges: readonly Pick<PlacedEdge, "from" | "to">[],
  node: string,
): ReadonlySet<string> {
  const sources = Map.groupBy(edges, ({ to }) => to);
  const readers = Map.groupBy(edges, ({ from }) => from);
  const reach = (next: (node: string) => readonly string[]): ReadonlySet<string> => {
    const seen = new Set([node]);
    for (const each of seen) for (const other of next(each)) seen.add(other);
    return seen;
  };
  const above = reach((each) => sources.get(each)?.map(({ from }) => from) ?? []);
  const below = reach((each) => readers.get(each)?.map(({ to }) => to) ?? []);
  return above.union(below);
}

/** The target of an arrow key: along the nearest edge, or the neighbour in the same level. */
export function nextNode(
  { nodes, edges }: Pick<GraphLayout, "nodes" | "edges">,
  at: PlacedNode,
  key: string,
): string | undefined {
  const nearest = (names: readonly string[]): string | undefined =>
    nodes
      .filter(({ id }) => names.includes(id))
      .toSorted((a, b) => Math.abs(a.y - at.y) - Math.abs(b.y - at.y))[0]?.id;
  const level = nodes.filter((each) => each.level === at.level);
  const index = level.findIndex(({ id }) => id === at.id);
  switch (key) {
    case "ArrowLeft":
      return nearest(edges.filter(({ to }) => to === at.id).map(({ from }) => from));
    case "ArrowRight":
      return nearest(edges.filter(({ from }) => from === at.id).map(({ to }) => to));
    case "ArrowUp":
      return index < 1 ? undefined : level[index - 1]?.id;
    case "ArrowDown":
      return level[index + 1]?.id;
    default:
      return undefined;
  }
}
