/** Paths through the graph. Pure. */
import type { GraphLayout, PlacedEdge, PlacedTable } from "./graph-layout.ts";

/** The table, all tables that it is made from, and all that are made from it. */
export function lineageOf(
  edges: readonly Pick<PlacedEdge, "from" | "to">[],
  table: string,
): ReadonlySet<string> {
  const sources = Map.groupBy(edges, ({ to }) => to);
  const readers = Map.groupBy(edges, ({ from }) => from);
  const reach = (next: (table: string) => readonly string[]): ReadonlySet<string> => {
    const seen = new Set([table]);
    for (const each of seen) for (const other of next(each)) seen.add(other);
    return seen;
  };
  const above = reach((each) => sources.get(each)?.map(({ from }) => from) ?? []);
  const below = reach((each) => readers.get(each)?.map(({ to }) => to) ?? []);
  return above.union(below);
}

/** The target of an arrow key: along the nearest edge, or the neighbour in the same level. */
export function nextTable(
  { tables, edges }: Pick<GraphLayout, "tables" | "edges">,
  at: PlacedTable,
  key: string,
): string | undefined {
  const nearest = (names: readonly string[]): string | undefined =>
    tables
      .filter(({ id }) => names.includes(id))
      .toSorted((a, b) => Math.abs(a.y - at.y) - Math.abs(b.y - at.y))[0]?.id;
  const level = tables.filter((each) => each.level === at.level);
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
