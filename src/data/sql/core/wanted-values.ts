/**
 * Finds the values of a column that a SELECT can want from a table (SQ27). A reader of the table
 * may leave out all other rows, because the WHERE would. In joins the column must be qualified with
 * the table's name.
 */
import { nameKey } from "./names.ts";
import { nodesOf, type SelectTree } from "./select-tree.ts";
import { isTreeNode, type TreeNode, textOf } from "./serialized-sql.ts";
import { nonEmpty } from "./table-scope.ts";

const valuesMax = 500;

/** `table` is a name without a schema. Undefined for any value. */
export function wantedValues(
  tree: SelectTree,
  table: string,
  column: string,
): ReadonlySet<string> | undefined {
  const isNamed = (node: TreeNode): boolean =>
    node.type === "BASE_TABLE" && nameKey(textOf(node.table_name) ?? "") === nameKey(table);
  const nodes = [...nodesOf(tree.statement)];
  const unrestricted = new Set(nodes.filter(isNamed));
  const wanted = new Set<string>();
  for (const query of nodes) {
    if (query.type !== "SELECT_NODE" || query.sample !== null) continue;
    const leaves = leavesOf(query.from_table) ?? [];
    for (const leaf of leaves.filter(isNamed)) {
      const values = valuesDemanded(query.where_clause, leaf, leaves, column);
      if (values === undefined) continue;
      unrestricted.delete(leaf);
      for (const value of values) wanted.add(value);
    }
  }
  return unrestricted.size > 0 || wanted.size > valuesMax ? undefined : wanted;
}

/** The joined tables. Undefined unless all are inner joins, where rows can be left out. */
function leavesOf(from: unknown): readonly TreeNode[] | undefined {
  if (!isTreeNode(from) || from.sample !== null) return undefined;
  if (from.type !== "JOIN") return [from];
  const isPlain = from.ref_type === "REGULAR" || from.ref_type === "CROSS";
  if (!isPlain || from.join_type !== "INNER") return undefined;
  const [left, right] = [leavesOf(from.left), leavesOf(from.right)];
  return left && right && [...left, ...right];
}

/** The values that a WHERE demands of the leaf's column; undefined when it is not understood. */
function valuesDemanded(
  where: unknown,
  leaf: TreeNode,
  leaves: readonly TreeNode[],
  column: string,
): readonly string[] | undefined {
  const hasAliases = Array.isArray(leaf.column_name_alias) && leaf.column_name_alias.length > 0;
  const called = calledOf(leaf);
  if (hasAliases || leaves.filter((each) => calledOf(each) === called).length > 1) return undefined;
  const isColumn = (node: unknown): boolean => {
    if (!isTreeNode(node) || node.type !== "COLUMN_REF" || !Array.isArray(node.column_names)) {
      return false;
    }
    const names = node.column_names.map((name) => nameKey(textOf(name) ?? ""));
    if (names.at(-1) !== nameKey(column)) return false;
    return names.length === 1 ? leaves.length === 1 : names.length === 2 && names[0] === called;
  };
  for (const condition of conjunctsOf(where)) {
    const values = constantsOf(condition, isColumn);
    if (values !== undefined) return values;
  }
  return undefined;
}

function calledOf(leaf: TreeNode): string {
  return nameKey(nonEmpty(leaf.alias) ?? textOf(leaf.table_name) ?? "");
}

function* conjunctsOf(where: unknown): Generator<TreeNode> {
  if (!isTreeNode(where)) return;
  if (where.type !== "CONJUNCTION_AND" || !Array.isArray(where.children)) yield where;
  else for (const child of where.children) yield* conjunctsOf(child);
}

function constantsOf(
  { type, left, right, children }: TreeNode,
  isColumn: (node: unknown) => boolean,
): readonly string[] | undefined {
  const sides: readonly unknown[] =
    type === "COMPARE_EQUAL"
      ? isColumn(right)
        ? [right, left]
        : [left, right]
      : type === "COMPARE_IN" && Array.isArray(children)
        ? children
        : [];
  const [column, ...others] = sides;
  if (!isColumn(column)) return undefined;
  const values = others.map(textConstant);
  return values.every((value) => value !== undefined) ? values : undefined;
}

function textConstant(node: unknown): string | undefined {
  if (!isTreeNode(node) || node.type !== "VALUE_CONSTANT" || !isTreeNode(node.value)) {
    return undefined;
  }
  const { type, is_null: isNull, value } = node.value;
  const isText = isTreeNode(type) && type.id === "VARCHAR" && isNull === false;
  return isText ? textOf(value) : undefined;
}
