/**
 * Plans how to replace tables in a SELECT so that everything else keeps its meaning.
 *
 * A table without an alias gets its old name as alias, so that `orders.id` still binds. Where two
 * in one FROM would share an alias (`a.t JOIN b.t`), it is `schema.name`, which no unqualified
 * reference can match. References with a schema (`main.t.id`) become references to the alias,
 * because aliases have no schema. AT is removed, because the new name says which version is meant.
 */
import { nameKey } from "./names.ts";
import type { SelectTree } from "./select-tree.ts";
import { isExactNumber, isTreeNode, type TreeNode, textOf } from "./serialized-sql.ts";
import { type CteScope, nonEmpty, queryPartsOf, type TableUse, tableUseOf } from "./table-scope.ts";

export interface NewTable {
  readonly catalog?: string;
  readonly schema?: string;
  readonly name: string;
}

/** The table to read instead, or undefined to leave it. */
export type Rename = (use: TableUse) => NewTable | undefined;

export interface RenameOptions {
  /** The schema of tables that are named without one. */
  readonly defaultSchema: string;
}

/** A renamed table of a FROM, with its alias. */
export interface RenamedTable {
  readonly use: TableUse;
  readonly to: NewTable;
  readonly alias: string;
}

/** The first `length` parts of a column's name are replaced by `alias`. */
export interface RenamedColumn {
  readonly length: number;
  readonly alias: string;
}

export interface RenamePlan {
  readonly tables: ReadonlyMap<TreeNode, RenamedTable>;
  readonly columns: ReadonlyMap<TreeNode, RenamedColumn>;
  /** Columns in EXCLUDE and RENAME of a star, with the star. */
  readonly starColumns: ReadonlyMap<TreeNode, { readonly star: TreeNode; readonly alias: string }>;
}

interface Scope {
  readonly ctes: CteScope | undefined;
  /** The tables of this FROM and those around it, the innermost first. */
  readonly froms: readonly (readonly RenamedTable[])[];
  readonly star: TreeNode | undefined;
}

export function planRenames(tree: SelectTree, rename: Rename, options: RenameOptions): RenamePlan {
  const { defaultSchema } = options;
  const tables = new Map<TreeNode, RenamedTable>();
  const columns = new Map<TreeNode, RenamedColumn>();
  const starColumns = new Map<TreeNode, { star: TreeNode; alias: string }>();
  visit(tree.statement, { ctes: undefined, froms: [], star: undefined });
  return { tables, columns, starColumns };

  function visit(value: unknown, scope: Scope): void {
    if (Array.isArray(value)) for (const each of value) visit(each, scope);
    if (!isTreeNode(value) || isExactNumber(value) || value.type === "BASE_TABLE") return;
    if (value.type === "COLUMN_REF") planColumn(value, scope);
    if (scope.star !== undefined && typeof value.column === "string") {
      planStarColumn(value, scope, scope.star);
    }
    const parts = queryPartsOf(value, scope.ctes);
    if (parts === undefined) {
      const inside = value.type === "STAR" ? { ...scope, star: value } : scope;
      for (const child of Object.values(value)) visit(child, inside);
      return;
    }
    for (const { entry, sees } of parts.ctes) visit(entry.value, { ...scope, ctes: sees });
    const here = planFrom(value.from_table, parts.sees);
    const froms = [here, ...scope.froms];
    for (const [key, child] of Object.entries(value)) {
      if (key === "cte_map") continue;
      const ctes = key === "right" ? parts.rightSees : parts.sees;
      visit(child, { ctes, froms, star: undefined });
    }
  }

  /** The tables of a FROM itself, without those of its subqueries. */
  function planFrom(from: unknown, ctes: CteScope | undefined): readonly RenamedTable[] {
    const items = itemsOf(from);
    const names = items.map((item) => nameKey(nameOf(item)));
    return items.flatMap((item, index) => {
      const use = tableUseOf(item, ctes, tree.sql);
      const to = use === undefined ? undefined : rename(use);
      if (use === undefined || to === undefined) return [];
      const isAlone = names.every((name, at) => at === index || name !== names[index]);
      const old = isAlone ? use.name : `${use.schema ?? defaultSchema}.${use.name}`;
      const renamed = { use, to, alias: use.alias ?? old };
      tables.set(item, renamed);
      return [renamed];
    });
  }

  function planColumn(node: TreeNode, scope: Scope): void {
    const names = Array.isArray(node.column_names) ? node.column_names.map(String) : [];
    for (const length of [3, 2]) {
      const alias = names.length > length ? aliasOf(names.slice(0, length), scope) : undefined;
      if (alias === undefined) continue;
      columns.set(node, { length, alias });
      return;
    }
  }

  function planStarColumn(node: TreeNode, scope: Scope, star: TreeNode): void {
    const qualifiers = [node.catalog, node.schema, node.table].flatMap(
      (part) => nonEmpty(part) ?? [],
    );
    const alias = qualifiers.length > 1 ? aliasOf(qualifiers, scope) : undefined;
    if (alias !== undefined) starColumns.set(node, { star, alias });
  }

  /** The alias for `[catalog,] schema, table`; undefined when no renamed table matches. */
  function aliasOf(qualifiers: readonly string[], { froms }: Scope): string | undefined {
    const [name, schema, catalog] = qualifiers.map(nameKey).reverse();
    const found = froms
      .flat()
      .find(
        ({ use }) =>
          use.alias === undefined &&
          nameKey(use.name) === name &&
          nameKey(use.schema ?? defaultSchema) === schema &&
          (catalog === undefined || nameKey(use.catalog ?? "") === catalog),
      );
    return found?.alias;
  }
}

function itemsOf(from: unknown): readonly TreeNode[] {
  const items: TreeNode[] = [];
  const stack: unknown[] = [from];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    if (!isTreeNode(next)) continue;
    if (next.type === "JOIN") stack.push(next.right, next.left);
    else if (next.type === "PIVOT") stack.push(next.source);
    else items.push(next);
  }
  return items;
}

function nameOf(item: TreeNode): string {
  const called = isTreeNode(item.function) ? item.function.function_name : undefined;
  return nonEmpty(item.alias) ?? textOf(item.table_name) ?? textOf(called) ?? "";
}
