/** All the places where a SELECT names a table, wherever they are: joins, subqueries, set operations, CTEs. */

import type { SelectTree } from "./select-tree.ts";
import { isExactNumber, isTreeNode } from "./serialized-sql.ts";
import { type CteScope, queryPartsOf, type TableUse, tableUseOf } from "./table-scope.ts";

/** In the order of the text, as far as DuckDB says where they are. CTEs are not among them. */
export function tableRefs(tree: SelectTree): readonly TableUse[] {
  const uses: TableUse[] = [];
  visit(tree.statement, undefined);
  return uses.sort((one, other) => (one.position ?? 0) - (other.position ?? 0));

  function visit(value: unknown, ctes: CteScope | undefined): void {
    if (Array.isArray(value)) for (const each of value) visit(each, ctes);
    if (!isTreeNode(value) || isExactNumber(value)) return;
    const use = tableUseOf(value, ctes, tree.sql);
    if (use !== undefined) uses.push(use);
    if (value.type === "BASE_TABLE") return; // What AT says is judged already.
    const parts = queryPartsOf(value, ctes);
    for (const { entry, sees } of parts?.ctes ?? []) visit(entry.value, sees);
    for (const [key, child] of Object.entries(value)) {
      if (parts !== undefined && key === "cte_map") continue;
      const sees = parts === undefined ? ctes : key === "right" ? parts.rightSees : parts.sees;
      visit(child, sees);
    }
  }
}
