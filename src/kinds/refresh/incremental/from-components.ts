/** The components of a FROM: those of its leaves, as its joins combine them. */
import { quoteName } from "../../../data/sql/core/index.ts";
import { type From, type FromComponent, hiddenColumns, type Leaf, type Value } from "./relation.ts";

export function columnValue(leaf: string, column: string): Value {
  return { sql: `${quoteName(leaf)}.${quoteName(column)}`, leaf, column };
}

export function componentsOfFrom(from: From | undefined): readonly FromComponent[] {
  if (from === undefined) return [];
  if (from.kind !== "join") return componentsOfLeaf(from);
  const left = componentsOfFrom(from.left);
  const right = componentsOfFrom(from.right);
  if (from.join === "INNER") return [...left, ...right];
  const joined: FromComponent[] =
    from.key === undefined
      ? []
      : [
          {
            id: from.key.id,
            values: from.key.result,
            guards: [],
            sources: from.key.sources,
            rowsOf: undefined,
          },
        ];
  // A changed row of the other side is found by the join key, so its own components end here.
  if (from.join === "FULL") return joined;
  return [...(from.join === "RIGHT" ? right : left), ...joined];
}

function componentsOfLeaf(leaf: Leaf): readonly FromComponent[] {
  switch (leaf.kind) {
    case "fixed":
      return [];
    case "source":
      return [
        {
          id: leaf.id,
          values: [columnValue(leaf.leaf, leaf.rowId)],
          guards: [],
          sources: [leaf.source],
          rowsOf: leaf.source,
        },
      ];
    case "relation": {
      const outside = (name: string) =>
        hiddenColumns(leaf.relation).includes(name)
          ? name
          : (leaf.columns.find((column) => column.name === name)?.as ?? name);
      return leaf.relation.components.map((component) => ({
        id: component.id,
        values: component.columns.map((name) => columnValue(leaf.leaf, outside(name))),
        guards: component.guards.map(({ column, branch }) => ({
          sql: columnValue(leaf.leaf, column).sql,
          branch,
        })),
        sources: component.sources,
        rowsOf: component.rowsOf,
      }));
    }
  }
}

export function sourcesOf(components: readonly { readonly sources: readonly number[] }[]) {
  return [...new Set(components.flatMap(({ sources }) => sources))].sort((a, b) => a - b);
}

/** Leaves that may be filtered before the joins: filtering them makes no row NULL-extended. */
export function choosableLeaves(from: From | undefined): ReadonlySet<string> {
  if (from === undefined) return new Set();
  if (from.kind !== "join") return new Set([from.leaf]);
  const sides =
    from.join === "INNER"
      ? [from.left, from.right]
      : from.join === "FULL"
        ? []
        : [from.join === "RIGHT" ? from.right : from.left];
  return new Set(sides.flatMap((side) => [...choosableLeaves(side)]));
}
