/**
 * What a person may ask DuckDB to do: one SELECT (or VALUES, FROM, WITH, DESCRIBE, SUMMARIZE, SHOW) that reads no files.
 *
 * The judgement is made on DuckDB's own syntax tree (`json_serialize_sql`), so comments, quotes, semicolons and odd
 * spellings are DuckDB's business and cannot deceive us. Table functions are on a list of what is allowed, because a new
 * version of DuckDB may bring new ones: today's read files (`read_csv`), follow raw pointers (`arrow_scan`), run SQL
 * hidden in a text (`query`) and change the process (`enable_logging`). DuckDB's own settings
 * (`enable_external_access` off) stand behind this as a second wall, but leave the spool open, where others' results are.
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
 * Of the others these do more than compute: bind SQL that is hidden in a text, tell of the machine,
 * write a log. The statement around the person's own (`current_query`) and the views that tables
 * are (`pg_get_viewdef`) name files.
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
 * Of the syntax tree, in which an expression within another is two deeper. DuckDB takes time with the cube of it: half a
 * second for 300 lists within each other, and a quarter of a minute for 900.
 */
const depthMax = 500;

/** `serialized` is what `json_serialize_sql` said of the text. `undefined`: it may run. */
export function checkUserSql(serialized: string): SqlProblem | undefined {
  const read = readSerializedSql(serialized, { exact: false });
  return read.kind === "problem" ? read.problem : checkTree([read.statement]);
}

interface Place {
  readonly value: unknown;
  readonly depth: number;
}

/** Every node is looked at, wherever it stands; a stack, because trees can be deep. */
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

/** DuckDB's own catalogs tell of all statements under way, and of where files are. */
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
