/**
 * Checks that a user's statement is one SELECT (or VALUES, FROM, WITH, DESCRIBE, SUMMARIZE, SHOW)
 * that reads no files.
 *
 * It judges DuckDB's own syntax tree (`json_serialize_sql`), so comments, quotes and odd spellings
 * cannot deceive it. Table functions are on an allow list, because a new DuckDB may bring new ones:
 * today's read files (`read_csv`), follow raw pointers (`arrow_scan`), run SQL in a text (`query`)
 * and change the process (`enable_logging`). DuckDB's settings (`enable_external_access` off) are a
 * second barrier, but leave the spool open, where others' results are.
 */

import {
  isSystemTable,
  isTreeNode,
  looksLikeFile,
  readSerializedSql,
  type SqlProblem,
  type TreeNode,
  textOf,
} from "../sql/core/index.ts";

const tableFunctionsAllowed: ReadonlySet<string> = new Set([
  "duckdb_functions",
  "duckdb_keywords",
  "duckdb_memory",
  "duckdb_optimizers",
  "duckdb_types",
  "generate_series",
  "icu_calendar_names",
  "json_each",
  "json_tree",
  "pg_timezone_names",
  "pragma_collations",
  "pragma_platform",
  "pragma_version",
  "range",
  "repeat",
  "repeat_row",
  "test_all_types",
  "unnest",
]);

/**
 * Scalar functions that do more than compute: they bind SQL in a text, describe the machine, or
 * write a log. `current_query` and `pg_get_viewdef` reveal file names in the statement around the
 * user's and in views.
 */
const functionsRefused: ReadonlySet<string> = new Set([
  "current_query",
  "current_setting",
  "json_serialize_plan",
  "pg_get_viewdef",
  "write_log",
]);

const systemSchemas: ReadonlySet<string> = new Set(["information_schema", "pg_catalog"]);

/**
 * The depth of the syntax tree; a nested expression is two deeper. DuckDB's time grows with its
 * cube: half a second for 300 nested lists, 15 seconds for 900.
 */
const depthMax = 500;

/** `serialized` is the output of `json_serialize_sql`. Undefined when the statement may run. */
export function checkUserSql(serialized: string): SqlProblem | undefined {
  const read = readSerializedSql(serialized, { exact: false });
  return read.kind === "problem" ? read.problem : checkTree([read.statement]);
}

interface Place {
  readonly value: unknown;
  readonly depth: number;
}

/** Visits every node. A stack instead of recursion, because trees can be deep. */
function checkTree(root: unknown): SqlProblem | undefined {
  const stack: Place[] = [{ value: root, depth: 0 }];
  for (let place = stack.pop(); place !== undefined; place = stack.pop()) {
    const { value: next, depth } = place;
    if (typeof next !== "object" || next === null) continue;
    if (depth > depthMax) {
      return { message: "the statement is nested too deeply", position: undefined };
    }
    if (isTreeNode(next)) {
      const problem = checkNode(next);
      if (problem !== undefined) return problem;
    }
    for (const child of Object.values(next)) {
      if (typeof child === "object" && child !== null)
        stack.push({ value: child, depth: depth + 1 });
    }
  }
  return undefined;
}

function checkNode(node: TreeNode): SqlProblem | undefined {
  switch (node.type) {
    case "TABLE_FUNCTION": {
      const { function: called } = node;
      const name = isTreeNode(called) ? textOf(called.function_name)?.toLowerCase() : undefined;
      if (name !== undefined && tableFunctionsAllowed.has(name)) return undefined;
      const message = `the table function ${name ?? "of this form"} cannot be used here`;
      return { message, position: positionOf(node) };
    }
    case "FUNCTION": {
      const name = textOf(node.function_name)?.toLowerCase() ?? "";
      if (!functionsRefused.has(name)) return undefined;
      return { message: `the function ${name} cannot be used here`, position: positionOf(node) };
    }
    case "BASE_TABLE":
    case "SHOW_REF":
      return checkTable(node);
    case "VALUE_PARAMETER":
      return { message: "parameters cannot be given here", position: positionOf(node) };
    default:
      return undefined;
  }
}

/** DuckDB's own catalogs reveal other statements and the places of files. */
function checkTable(node: TreeNode): SqlProblem | undefined {
  const names = [node.catalog_name, node.schema_name, node.table_name].map(textOf);
  const position = positionOf(node);
  const file = names.find((name) => name !== undefined && looksLikeFile(name));
  if (file !== undefined) return { message: `files cannot be read here: ${file}`, position };
  const [catalog, schema, table] = names;
  const isForeign = catalog !== undefined && catalog !== "";
  const isSystem = systemSchemas.has((schema ?? "").toLowerCase());
  if (isForeign || isSystem || (schema === "" && isSystemTable(table ?? ""))) {
    const name = names.filter((part) => part !== undefined && part !== "").join(".");
    return { message: `${name} cannot be read here; SHOW TABLES lists the tables`, position };
  }
  return undefined;
}

function positionOf(node: TreeNode): number | undefined {
  const location = node.query_location;
  return typeof location === "number" ? location : undefined;
}
