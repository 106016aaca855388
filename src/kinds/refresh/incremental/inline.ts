/** Replaces CTE names by their queries, and finds the sources among a query's tables. */
import {
  isTree,
  listOf,
  NotIncremental,
  rewrite,
  rewriteTree,
  subqueryTable,
  type Tree,
  textOf,
  textsOf,
  treeOf,
} from "./syntax.ts";

export interface SourceSchema {
  readonly schema: string | undefined;
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
}

interface Cte {
  readonly node: Tree;
  readonly columns: readonly string[];
}

export function inlineCtes(node: Tree): Tree {
  return inline(node, new Map());
}

function inline(tree: Tree, outer: ReadonlyMap<string, Cte>): Tree {
  let ctes = outer;
  for (const entry of listOf(treeOf(tree, "cte_map") ?? {}, "map")) {
    const value = treeOf(entry, "value") ?? {};
    const node = treeOf(treeOf(value, "query") ?? {}, "node") ?? {};
    if (textOf(node, "type") === "RECURSIVE_CTE_NODE") {
      throw new NotIncremental("a recursive CTE reads its own result");
    }
    const known = new Map(ctes);
    known.set(textOf(entry, "key").toLowerCase(), {
      node: inline(node, ctes),
      columns: textsOf(value, "aliases"),
    });
    ctes = known;
  }
  return Object.fromEntries(
    Object.entries(tree).map(([key, value]) => [
      key,
      key === "cte_map" ? { map: [] } : rewrite(value, (inner) => replaceTable(inner, ctes)),
    ]),
  );
}

function replaceTable(tree: Tree, ctes: ReadonlyMap<string, Cte>): Tree | undefined {
  // Before anything with a FROM, which may have CTEs of its own.
  if (tree.type === "SELECT_NODE" || tree.type === "SET_OPERATION_NODE") return inline(tree, ctes);
  if (tree.type === "RECURSIVE_CTE_NODE") {
    throw new NotIncremental("a recursive CTE reads its own result");
  }
  if (tree.type !== "BASE_TABLE" || textOf(tree, "schema_name") !== "") return undefined;
  const name = textOf(tree, "table_name");
  const cte = ctes.get(name.toLowerCase());
  if (cte === undefined) return undefined;
  const own = textsOf(tree, "column_name_alias");
  const alias = textOf(tree, "alias") === "" ? name : textOf(tree, "alias");
  return subqueryTable(cte.node, alias, own.length > 0 ? own : cte.columns, tree.sample);
}

/** The source that a BASE_TABLE of the tree names; -1 without one. */
export function sourceIndex(table: Tree, sources: readonly SourceSchema[]): number {
  const schema = textOf(table, "schema_name").toLowerCase();
  const name = textOf(table, "table_name").toLowerCase();
  return sources.findIndex(
    (source) =>
      source.name.toLowerCase() === name &&
      (schema === "" || source.schema === undefined || source.schema.toLowerCase() === schema),
  );
}

/** Removes schemas from column names: `main.orders.id` becomes `orders.id`. */
export function withoutSchemas(node: Tree): Tree {
  const schemas = new Map<string, string>();
  rewriteTree(node, (tree) => {
    if (tree.type !== "BASE_TABLE" || textOf(tree, "alias") !== "") return undefined;
    const name = textOf(tree, "table_name").toLowerCase();
    const schema = textOf(tree, "schema_name").toLowerCase();
    const known = schemas.get(name) ?? schema;
    if (known !== schema) {
      throw new NotIncremental(`two tables called ${name} without aliases are not told apart`);
    }
    schemas.set(name, schema);
    return undefined;
  });
  return rewriteTree(node, (tree) => {
    const [schema, table, ...rest] = textsOf(tree, "column_names");
    const isQualified =
      tree.class === "COLUMN_REF" &&
      rest.length > 0 &&
      schemas.get(table?.toLowerCase() ?? "") === schema?.toLowerCase();
    return isQualified ? { ...tree, column_names: [table, ...rest] } : undefined;
  });
}

/** The query over tables without rows, which binds anywhere. `stubs` has a node per source. */
export function withStubs(
  node: Tree,
  sources: readonly SourceSchema[],
  stubs: readonly Tree[],
): Tree {
  return rewriteTree(node, (tree) => {
    if (tree.type !== "BASE_TABLE") return undefined;
    const stub = stubs[sourceIndex(tree, sources)];
    if (!isTree(stub)) return undefined;
    const alias = textOf(tree, "alias");
    return subqueryTable(
      stub,
      alias === "" ? textOf(tree, "table_name") : alias,
      textsOf(tree, "column_name_alias"),
    );
  });
}
