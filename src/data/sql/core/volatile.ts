/**
 * Whether a SELECT over the same rows may give another result the next time (SQ25). The names are
 * the functions that `duckdb_functions()` does not call consistent, macros made of them, and words
 * that DuckDB takes for a call without brackets.
 */
import { nodesOf, type SelectTree } from "./select-tree.ts";
import { isTreeNode, type TreeNode, textOf } from "./serialized-sql.ts";

const volatileFunctions: ReadonlySet<string> = new Set(
  `ago current_catalog current_connection_id current_database current_date current_localtime current_localtimestamp
  current_query current_query_id current_schema current_schemas current_setting current_time current_timestamp
  current_transaction_id currval format_type gen_random_uuid get_block_size get_current_time
  get_current_timestamp getvariable in_search_path localtime localtimestamp nextval now pg_conf_load_time
  pg_get_constraintdef pg_get_viewdef pg_postmaster_start_time pg_sleep random setseed sleep_ms stats today
  transaction_timestamp txid_current uuid uuidv4 uuidv7 write_log`.split(/\s+/),
);

/** May also be a column, which only binding can tell. An unnecessary refresh does no harm. */
const volatileWords: ReadonlySet<string> = new Set(
  `current_catalog current_date current_localtime current_localtimestamp current_schema current_time current_timestamp
  localtime localtimestamp`.split(/\s+/),
);

/** Table functions about the process, not about their arguments. */
const aboutProcess = /^(duckdb_|pragma_|icu_|pg_timezone)/;

/** The called functions in lower case: scalar, aggregate, window and table functions, operators. */
export function functionsOf(tree: SelectTree): ReadonlySet<string> {
  const names = new Set<string>();
  for (const node of nodesOf(tree.statement)) {
    const name = functionName(node);
    if (name !== undefined) names.add(name);
  }
  return names;
}

/**
 * The volatile parts, each once, in words for people: `random()`, `current_date`, `a sample`. Empty
 * when the SELECT is not volatile.
 */
export function volatilePartsOf(tree: SelectTree): readonly string[] {
  const parts = new Set<string>();
  for (const node of nodesOf(tree.statement)) {
    const part = volatilePart(node);
    if (part !== undefined) parts.add(part);
  }
  return [...parts];
}

function volatilePart(node: TreeNode): string | undefined {
  const name = functionName(node);
  if (name !== undefined) {
    const isOne =
      volatileFunctions.has(name) ||
      (node.type === "FUNCTION" && name === "age" && countOf(node.children) === 1);
    if (isOne) return `${name}()`;
  }
  if (node.type === "TABLE_FUNCTION" && isTreeNode(node.function)) {
    const called = functionName(node.function) ?? "";
    if (aboutProcess.test(called)) return `${called}()`;
  }
  if (node.type === "COLUMN_REF" && Array.isArray(node.column_names)) {
    const [word, more] = node.column_names.map(String);
    const key = word?.toLowerCase() ?? "";
    if (more === undefined && volatileWords.has(key)) return key;
  }
  // Also with a seed: the drawn rows depend on how threads share the work.
  if (isTreeNode(node.sample)) return "a sample";
  return undefined;
}

function functionName(node: TreeNode): string | undefined {
  if (node.class !== "FUNCTION" && node.class !== "WINDOW") return undefined;
  return textOf(node.function_name)?.toLowerCase();
}

function countOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 0;
}
