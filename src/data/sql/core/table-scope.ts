/**
 * Which names of a SELECT are tables. A CTE hides a table of its name in the CTEs after it and in its query, and in its
 * own definition only where it refers to itself: in the recursive half. A name with a schema is never a CTE's, but for
 * `recurring.name`, which is all that a recursive CTE has found so far.
 */
import { momentOf, type TableMoment } from "./at-clause.ts";
import { nameKey } from "./names.ts";
import { positionOf } from "./select-tree.ts";
import { isTreeNode, type TreeNode, textOf } from "./serialized-sql.ts";

/** One place where a SELECT names a table. */
export interface TableUse {
  readonly catalog: string | undefined;
  readonly schema: string | undefined;
  readonly name: string;
  /** What the SELECT calls it, where that is not its name. */
  readonly alias: string | undefined;
  readonly at: TableMoment;
  /** In characters; `undefined`: DuckDB does not say. */
  readonly position: number | undefined;
}

/** The CTEs that can be seen from a place. */
export interface CteScope {
  readonly key: string;
  readonly outer: CteScope | undefined;
}

export function withCte(outer: CteScope | undefined, name: unknown): CteScope {
  return { key: nameKey(textOf(name) ?? ""), outer };
}

/** `undefined`: the node is no base table, or it names a CTE. */
export function tableUseOf(
  node: TreeNode,
  ctes: CteScope | undefined,
  sql: string,
): TableUse | undefined {
  if (node.type !== "BASE_TABLE") return undefined;
  const catalog = nonEmpty(node.catalog_name);
  const schema = nonEmpty(node.schema_name);
  const name = textOf(node.table_name) ?? "";
  const mayBeCte = schema === undefined || nameKey(schema) === "recurring";
  if (catalog === undefined && mayBeCte && isCte(ctes, nameKey(name))) return undefined;
  const position = positionOf(node, sql);
  const at = momentOf(node.at_clause, sql, position);
  return { catalog, schema, name, alias: nonEmpty(node.alias), at, position };
}

function isCte(scope: CteScope | undefined, key: string): boolean {
  for (let at = scope; at !== undefined; at = at.outer) if (at.key === key) return true;
  return false;
}

/** The parts of a query's node in the order in which names come into sight, each with the CTEs that it sees. */
export interface QueryParts {
  readonly ctes: readonly { readonly entry: TreeNode; readonly sees: CteScope | undefined }[];
  /** What everything else of the node sees. */
  readonly sees: CteScope | undefined;
  /** What `right` of a recursive CTE sees. */
  readonly rightSees: CteScope | undefined;
}

/** `undefined`: not the node of a query. */
export function queryPartsOf(node: TreeNode, outer: CteScope | undefined): QueryParts | undefined {
  if (!isTreeNode(node.cte_map) || !Array.isArray(node.cte_map.map)) return undefined;
  let sees = outer;
  const ctes: { entry: TreeNode; sees: CteScope | undefined }[] = [];
  for (const entry of node.cte_map.map) {
    if (!isTreeNode(entry)) continue;
    ctes.push({ entry, sees });
    sees = withCte(sees, entry.key);
  }
  const isRecursive = node.type === "RECURSIVE_CTE_NODE";
  return { ctes, sees, rightSees: isRecursive ? withCte(sees, node.cte_name) : sees };
}

export function nonEmpty(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
