/**
 * DuckDB's tree of one SELECT, from `json_serialize_sql` and for `json_deserialize_sql`. Immutable.
 * Reading and writing it keeps every digit (SQ31).
 */
import { badSql, characterAt } from "./bad-sql.ts";
import {
  isExactNumber,
  isTreeNode,
  readSerializedSql,
  type TreeNode,
  textOf,
} from "./serialized-sql.ts";

export interface SelectTree {
  readonly statement: TreeNode;
  /** The text that positions refer to. */
  readonly sql: string;
}

/** Deeper than any sensible statement, and shallow enough to walk recursively. */
const depthMax = 2_000;

/** `serialized` is the output of `json_serialize_sql` for `sql`. Throws `bad_sql`. */
export function parseSelectTree(serialized: string, sql: string): SelectTree {
  const read = readSerializedSql(serialized, { exact: true });
  if (read.kind === "problem") {
    const { message, position } = read.problem;
    const at = position === undefined ? undefined : characterAt(sql, position);
    const isPivot = position === undefined && /\bpivot/i.test(sql);
    const hint = isPivot
      ? "PIVOT needs the values that become columns: ON column IN ('a', 'b')."
      : undefined;
    throw badSql(message, sql, at, hint);
  }
  return { statement: finite(read.statement, sql, 0), sql };
}

/** The input of `json_deserialize_sql`. */
export function serializeTree(tree: SelectTree): string {
  return JSON.stringify({ error: false, statements: [tree.statement] });
}

/** The position in characters; undefined when DuckDB gives none (its largest number). */
export function positionOf(node: TreeNode, sql: string): number | undefined {
  const location = node.query_location;
  return typeof location === "number" ? characterAt(sql, location) : undefined;
}

/** Every node, from the outside in. */
export function* nodesOf(root: unknown): Generator<TreeNode> {
  const stack: unknown[] = [root];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    if (Array.isArray(next)) stack.push(...next.filter(isObject).reverse());
    else if (isTreeNode(next) && !isExactNumber(next)) {
      yield next;
      stack.push(...Object.values(next).filter(isObject).reverse());
    }
  }
}

/** DuckDB writes infinite constants but cannot read them, so they become casts. */
function finite(node: TreeNode, sql: string, depth: number): TreeNode {
  if (depth > depthMax) throw badSql("the statement is nested too deeply", sql, undefined);
  if (node.type === "VALUE_CONSTANT" && isTreeNode(node.value)) {
    const { type, value } = node.value;
    if (isTreeNode(type) && type.id === "DOUBLE" && typeof value === "string") {
      return infinity(node, value, type);
    }
  }
  const below = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(below);
    if (!isTreeNode(value) || isExactNumber(value)) return value;
    return finite(value, sql, depth + 1);
  };
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, below(value)]));
}

function infinity(node: TreeNode, value: string, type: TreeNode): TreeNode {
  const text = { type: { id: "VARCHAR", type_info: null }, is_null: false, value };
  return {
    class: "CAST",
    type: "OPERATOR_CAST",
    alias: textOf(node.alias) ?? "",
    query_location: node.query_location,
    child: { ...node, alias: "", value: text },
    cast_type: type,
    try_cast: false,
  };
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}
