/**
 * Decides which names of a SELECT are tables. A CTE hides a table of its name in later CTEs, in its
 * query, and in the recursive half of its own definition. A name with a schema is never a CTE,
 * except `recurring.name`: the rows that a recursive CTE has found so far.
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
  /** The alias, if it differs from the name. */
  readonly alias: string | undefined;
  readonly at: TableMoment;
  /** The position in characters; undefined when DuckDB gives none. */
  readonly position: number | undefined;
}

/** The CTEs that are visible from a place. */
export interface CteScope {
  readonly key: string;
  readonly outer: CteScope | undefined;
}

export function withCte(outer: CteScope | undefined, name: unknown): CteScope {
  return { key: nameKey(textOf(name) ?? ""), outer };
}

/** Undefined when the node is no base table, or names a CTE. */
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

/** The parts of a query's node in the order of their names' visibility, with the CTEs they see. */
export interface QueryParts {
  readonly ctes: readonly { readonly entry: TreeNode; readonly sees: CteScope | undefined }[];
  /** The CTEs that everything else of the node sees. */
  readonly sees: CteScope | undefined;
  /** The CTEs that `right` of a recursive CTE sees. */
  readonly rightSees: CteScope | undefined;
}

/** Undefined when the node is not a query. */
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
