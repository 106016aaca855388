/** All places where a SELECT names a table: joins, subqueries, set operations, CTEs. */

import { nameKey } from "./names.ts";
import { nodesOf, type SelectTree } from "./select-tree.ts";
import { isExactNumber, isTreeNode, type TreeNode, textOf } from "./serialized-sql.ts";
import { type CteScope, nonEmpty, queryPartsOf, type TableUse, tableUseOf } from "./table-scope.ts";

export interface TableRef extends TableUse {
  /** All of its columns count, even unnamed: a star, NATURAL, PIVOT, a position. */
  readonly isWhole: boolean;
  /**
   * Its name or alias is used as a value, which means its whole row, unless it has a column of that
   * name.
   */
  readonly isValue: boolean;
}

/** In the order of the text, as far as DuckDB gives positions. CTEs are left out. */
export function tableRefs(tree: SelectTree): readonly TableRef[] {
  const refs: TableRef[] = [];
  const { starred, values } = rowNamesOf(tree);
  visit(tree.statement, undefined, false);
  return refs.sort((one, other) => (one.position ?? 0) - (other.position ?? 0));

  /** `isWhole`: the query of this FROM, or a join in it, uses all columns. */
  function visit(value: unknown, ctes: CteScope | undefined, isWhole: boolean): void {
    if (Array.isArray(value)) for (const each of value) visit(each, ctes, isWhole);
    if (!isTreeNode(value) || isExactNumber(value)) return;
    const use = tableUseOf(value, ctes, tree.sql);
    if (use !== undefined) {
      const key = nameKey(use.alias ?? use.name);
      const isNumbered = countOf(value.column_name_alias) > 0; // `FROM t AS x(a, b)`
      const isAll = isWhole || isNumbered || starred.has(key);
      refs.push({ ...use, isWhole: isAll, isValue: values.has(key) });
    }
    if (value.type === "BASE_TABLE") return; // AT is handled already.
    const parts = queryPartsOf(value, ctes);
    for (const { entry, sees } of parts?.ctes ?? []) visit(entry.value, sees, false);
    for (const [key, child] of Object.entries(value)) {
      if (parts !== undefined && key === "cte_map") continue;
      const sees = parts === undefined ? ctes : key === "right" ? parts.rightSees : parts.sees;
      visit(child, sees, takesAll(value, key, isWhole));
    }
  }
}

/** Whether the tables directly at `key` of the node are read with all their columns. */
function takesAll(node: TreeNode, key: string, isWhole: boolean): boolean {
  switch (node.type) {
    case "SELECT_NODE":
      return key === "from_table" && hasStar(node);
    case "JOIN":
      return (key === "left" || key === "right") && (isWhole || node.ref_type === "NATURAL");
    case "PIVOT":
      return key === "source"; // It groups by, or keeps, unnamed columns.
    default:
      return false;
  }
}

/** Whether the query's own expressions have a star. One in a subquery is about its own FROM. */
function hasStar(query: TreeNode): boolean {
  const stack = Object.entries(query).flatMap(([key, value]) =>
    key === "from_table" || key === "cte_map" ? [] : [value],
  );
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    if (Array.isArray(next)) stack.push(...next.filter((each) => each !== undefined));
    if (!isTreeNode(next) || isExactNumber(next)) continue;
    if (next.class === "STAR" && nonEmpty(next.relation_name) === undefined) return true;
    if (next.class === "POSITIONAL_REFERENCE") return true;
    stack.push(
      ...Object.entries(next).flatMap(([key, value]) => (key === "subquery" ? [] : [value])),
    );
  }
  return false;
}

/** The keys of names in `t.*`, and of names used as values. */
function rowNamesOf(tree: SelectTree): Record<"starred" | "values", ReadonlySet<string>> {
  const starred = new Set<string>();
  const values = new Set<string>();
  for (const node of nodesOf(tree.statement)) {
    const relation = node.class === "STAR" ? nonEmpty(node.relation_name) : undefined;
    if (relation !== undefined) starred.add(nameKey(relation));
    if (node.class === "COLUMN_REF" && Array.isArray(node.column_names)) {
      values.add(nameKey(textOf(node.column_names.at(-1)) ?? ""));
    }
  }
  return { starred, values };
}

function countOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 0;
}
