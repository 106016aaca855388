/**
 * Names of a FROM. Every column reference is rewritten to leaf and column, and every alias to the
 * item that it names. An expression then means the same wherever it is placed.
 */
import type { Unsettled } from "./functions.ts";
import {
  columnReference,
  NotIncremental,
  rewriteTree,
  type Tree,
  textsOf,
  walk,
} from "./syntax.ts";

export interface ScopeLeaf {
  /** Its name in the generated SQL. */
  readonly leaf: string;
  /** Its name in the definition. */
  readonly name: string;
  readonly columns: readonly string[];
  readonly unsettled: Unsettled;
}

export interface Scope {
  readonly leaves: readonly ScopeLeaf[];
  /** Columns of USING, by lower-case name: the meaning of the unqualified name, and its columns. */
  readonly merged: ReadonlyMap<
    string,
    { readonly value: Tree; readonly leaves: readonly string[] }
  >;
}

export const emptyScope: Scope = { leaves: [], merged: new Map() };

export function joinScopes(left: Scope, right: Scope): Scope {
  return {
    leaves: [...left.leaves, ...right.leaves],
    merged: new Map([...left.merged, ...right.merged]),
  };
}

/** What an expression may name, in the order of lookup. */
export interface Names {
  readonly scopes: readonly Scope[];
  readonly aliases: ReadonlyMap<string, Tree>;
}

export function resolve(expression: Tree, names: Names): Tree {
  return rewriteTree(expression, (tree) => {
    switch (tree.class) {
      case "COLUMN_REF":
        return withAlias(resolveColumn(textsOf(tree, "column_names"), names), tree);
      case "SUBQUERY":
        throw new NotIncremental(
          "a subquery inside an expression may change for every row at once",
        );
      case "LAMBDA":
        throw new NotIncremental("lambda functions are not followed");
      case "STAR":
        throw new NotIncremental("COLUMNS(…) and * inside an expression are not followed");
      case "POSITIONAL_REFERENCE":
      case "PARAMETER":
        throw new NotIncremental("positional references and parameters are not followed");
      default:
        return undefined;
    }
  });
}

function withAlias(resolved: Tree, original: Tree): Tree {
  return { ...resolved, alias: original.alias };
}

function resolveColumn(parts: readonly string[], names: Names): Tree {
  for (const scope of names.scopes) {
    const found = findInScope(parts, scope);
    if (found !== undefined) return found;
  }
  const alias = parts.length === 1 ? names.aliases.get(parts[0]?.toLowerCase() ?? "") : undefined;
  if (alias === undefined) {
    throw new NotIncremental(`the name ${parts.join(".")} is not that of a column in its FROM`);
  }
  return { ...alias, alias: "" };
}

function findInScope(parts: readonly string[], scope: Scope): Tree | undefined {
  const lower = parts.map((part) => part.toLowerCase());
  for (const leaf of scope.leaves) {
    if (lower.length < 2 || leaf.name.toLowerCase() !== lower[0]) continue;
    const column = findColumn(leaf, lower[1]);
    if (column !== undefined) return columnReference(leaf.leaf, column, ...parts.slice(2));
  }
  const [first, ...fields] = parts;
  if (first === undefined) return undefined;
  const merged = scope.merged.get(first.toLowerCase());
  if (merged !== undefined) {
    if (fields.length > 0) throw new NotIncremental("a field of a USING column is not followed");
    return merged.value;
  }
  const owners = scope.leaves.filter((leaf) => findColumn(leaf, first.toLowerCase()) !== undefined);
  if (owners.length > 1) throw new NotIncremental(`the column ${first} is ambiguous`);
  const [owner] = owners;
  if (owner === undefined) return undefined;
  return columnReference(owner.leaf, findColumn(owner, first.toLowerCase()) ?? first, ...fields);
}

function findColumn(leaf: ScopeLeaf, lowerName: string | undefined): string | undefined {
  return leaf.columns.find((column) => column.toLowerCase() === lowerName);
}

/** The columns that `*` or `leaf.*` stands for. */
export function expandStar(star: Tree, scope: Scope): readonly Tree[] {
  for (const option of ["replace_list", "rename_list", "qualified_exclude_list", "expr"]) {
    const value: unknown = star[option];
    const isEmpty =
      value === undefined || value === null || (Array.isArray(value) && value.length === 0);
    if (!isEmpty) throw new NotIncremental("* with REPLACE, RENAME or a pattern is not followed");
  }
  if (star.columns === true) throw new NotIncremental("COLUMNS(…) is not followed");
  const relation = typeof star.relation_name === "string" ? star.relation_name : "";
  const excluded = new Set(textsOf(star, "exclude_list").map((name) => name.toLowerCase()));
  const given = new Set<string>();
  const items: Tree[] = [];
  for (const leaf of scope.leaves) {
    if (relation !== "" && leaf.name.toLowerCase() !== relation.toLowerCase()) continue;
    for (const column of leaf.columns) {
      const name = column.toLowerCase();
      if (excluded.has(name)) continue;
      const merged = relation === "" ? scope.merged.get(name) : undefined;
      if (merged === undefined || !merged.leaves.includes(leaf.leaf)) {
        items.push(columnReference(leaf.leaf, column));
      } else if (!given.has(name)) {
        given.add(name);
        items.push(merged.value);
      }
    }
  }
  if (items.length === 0) throw new NotIncremental("a * that stands for nothing is not followed");
  return items;
}

/** Leaves that a resolved expression reads. */
export function leavesRead(expression: unknown): ReadonlySet<string> {
  const leaves = new Set<string>();
  walk(expression, (tree) => {
    const leaf = tree.class === "COLUMN_REF" ? textsOf(tree, "column_names")[0] : undefined;
    if (leaf !== undefined) leaves.add(leaf);
    return true;
  });
  return leaves;
}
