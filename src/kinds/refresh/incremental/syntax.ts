/**
 * DuckDB's syntax trees as `json_serialize_sql` returns them: plain JSON, without positions.
 * Expressions have a `class`, tables and queries a `type`.
 */
import { isExactNumber } from "../../../data/sql/core/index.ts";

export interface Tree {
  readonly [key: string]: unknown;
}

export function isTree(value: unknown): value is Tree {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject && !isExactNumber(value);
}

export function treeOf(tree: Tree, key: string): Tree | undefined {
  const value = tree[key];
  return isTree(value) ? value : undefined;
}

export function listOf(tree: Tree, key: string): readonly Tree[] {
  const value: unknown = tree[key];
  return Array.isArray(value) ? value.filter(isTree) : [];
}

export function textOf(tree: Tree, key: string): string {
  const value = tree[key];
  return typeof value === "string" ? value : "";
}

export function textsOf(tree: Tree, key: string): readonly string[] {
  const value: unknown = tree[key];
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : [];
}

/** Visits every expression, outer ones first. `visit` returns false to skip the children. */
export function walk(value: unknown, visit: (expression: Tree) => boolean): void {
  if (Array.isArray(value)) {
    for (const entry of value) walk(entry, visit);
    return;
  }
  if (!isTree(value)) return;
  if (typeof value.class === "string" && !visit(value)) return;
  for (const entry of Object.values(value)) walk(entry, visit);
}

export function some(value: unknown, accept: (expression: Tree) => boolean): boolean {
  let found = false;
  walk(value, (expression) => {
    found ||= accept(expression);
    return !found;
  });
  return found;
}

/** A copy in which `replace` substituted trees. Substituted trees are not rewritten again. */
export function rewrite(value: unknown, replace: (tree: Tree) => Tree | undefined): unknown {
  if (Array.isArray(value)) return value.map((entry: unknown) => rewrite(entry, replace));
  if (!isTree(value)) return value;
  const replaced = replace(value);
  if (replaced !== undefined) return replaced;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [key, rewrite(entry, replace)]),
  );
}

export function rewriteTree(tree: Tree, replace: (tree: Tree) => Tree | undefined): Tree {
  return rewrite(tree, replace) as Tree;
}

/** Equal for expressions with the same text, whatever their aliases. */
export function identityOf(expression: Tree): string {
  return JSON.stringify({ ...expression, alias: undefined });
}

export function columnReference(...names: readonly string[]): Tree {
  return { class: "COLUMN_REF", type: "COLUMN_REF", alias: "", column_names: names };
}

export function comparison(type: string, left: Tree, right: Tree): Tree {
  return { class: "COMPARISON", type, alias: "", left, right };
}

export function coalesce(left: Tree, right: Tree): Tree {
  return { class: "OPERATOR", type: "OPERATOR_COALESCE", alias: "", children: [left, right] };
}

/** The conditions of nested ANDs. */
export function conjunctsOf(expression: Tree | undefined): readonly Tree[] {
  if (expression === undefined) return [];
  if (expression.type === "CONJUNCTION_AND") {
    return listOf(expression, "children").flatMap(conjunctsOf);
  }
  return [expression];
}

export function conjunctionOf(expressions: readonly Tree[]): Tree | undefined {
  if (expressions.length < 2) return expressions[0];
  return { class: "CONJUNCTION", type: "CONJUNCTION_AND", alias: "", children: expressions };
}

const nothing: Tree = { type: "EMPTY", alias: "", sample: null };

export function selectNode(items: readonly Tree[], from: Tree = nothing): Tree {
  return {
    type: "SELECT_NODE",
    modifiers: [],
    cte_map: { map: [] },
    select_list: items,
    from_table: from,
    where_clause: null,
    group_expressions: [],
    group_sets: [],
    aggregate_handling: "STANDARD_HANDLING",
    having: null,
    sample: null,
    qualify: null,
  };
}

export function subqueryTable(
  node: Tree,
  alias: string,
  columns: readonly string[] = [],
  sample: unknown = null,
): Tree {
  return {
    type: "SUBQUERY",
    alias,
    sample,
    subquery: { node, named_param_map: [] },
    column_name_alias: columns,
  };
}

/** The reason why a definition cannot be refreshed incrementally. Caught where planning begins. */
export class NotIncremental extends Error {
  override readonly name = "NotIncremental";
}
