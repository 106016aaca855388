/**
 * What a person may ask DuckDB to do: one SELECT (or VALUES, FROM, WITH, DESCRIBE, SUMMARIZE, SHOW) that reads no files.
 *
 * The judgement is made on DuckDB's own syntax tree (`json_serialize_sql`), so comments, quotes, semicolons and odd
 * spellings are DuckDB's business and cannot deceive us. Table functions are on a list of what is allowed, because a new
 * version of DuckDB may bring new ones: today's read files (`read_csv`), follow raw pointers (`arrow_scan`), run SQL
 * hidden in a text (`query`) and change the process (`enable_logging`). DuckDB's own settings
 * (`enable_external_access` off) stand behind this as a second wall, but leave the spool open, where others' results are.
 */

/** `undefined`: it may run. `position` is an offset in bytes into the text. */
export interface SqlProblem {
  readonly message: string;
  readonly position: number | undefined;
}

const tableFunctionsAllowed: ReadonlySet<string> = new Set([
  "duckdb_columns",
  "duckdb_constraints",
  "duckdb_databases",
  "duckdb_dependencies",
  "duckdb_functions",
  "duckdb_indexes",
  "duckdb_keywords",
  "duckdb_memory",
  "duckdb_optimizers",
  "duckdb_schemas",
  "duckdb_sequences",
  "duckdb_tables",
  "duckdb_types",
  "duckdb_views",
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

/** Of the others these do more than compute: bind SQL that is hidden in a text, tell of the machine, write a log. */
const functionsRefused: ReadonlySet<string> = new Set([
  "current_setting",
  "json_serialize_plan",
  "write_log",
]);

/** A name that DuckDB might take for a file. It joins catalog, schema and table with dots before it looks. */
const looksLikeFile = /[/\\]/;

/**
 * Of the syntax tree, in which an expression within another is two deeper. DuckDB takes time with the cube of it: half a
 * second for 300 lists within each other, and a quarter of a minute for 900.
 */
const depthMax = 500;

/** `serialized` is what `json_serialize_sql` said of the text. */
export function checkUserSql(serialized: string): SqlProblem | undefined {
  const answer = parseLoosely(serialized);
  if (!isNode(answer)) return { message: "the statement was not understood", position: undefined };
  if (answer.error === true) return problemOfParser(answer);
  const statements = answer.statements;
  const count = Array.isArray(statements) ? statements.length : 0;
  if (count === 0) return { message: "there is no statement", position: undefined };
  if (count > 1) {
    return { message: `one statement at a time: here are ${count}`, position: undefined };
  }
  return checkTree(statements);
}

/** DuckDB writes infinite numbers (`1e999`) as words that JSON does not have; no check looks at a number's value. */
function parseLoosely(serialized: string): unknown {
  try {
    return JSON.parse(serialized);
  } catch {
    const textOrWord = /"(?:[^"\\]+|\\.)*"|-?(?:Infinity|NaN)/g;
    return JSON.parse(
      serialized.replaceAll(textOrWord, (found) => (found.startsWith('"') ? found : "null")),
    );
  }
}

function problemOfParser(answer: Node): SqlProblem {
  const message = textOf(answer.error_message) ?? "the statement was not understood";
  if (answer.error_type === "not implemented") {
    return { message: "only SELECT statements can be run here", position: undefined };
  }
  const position = Number(answer.position ?? Number.NaN);
  return {
    message: `Parser Error: ${message}`,
    position: Number.isFinite(position) ? position : undefined,
  };
}

type Node = Readonly<Record<string, unknown>>;

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
    if (isNode(next)) {
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

function checkNode(node: Node): SqlProblem | undefined {
  switch (node.type) {
    case "TABLE_FUNCTION": {
      const { function: called } = node;
      const name = isNode(called) ? textOf(called.function_name)?.toLowerCase() : undefined;
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
    case "SHOW_REF": {
      const names = [node.catalog_name, node.schema_name, node.table_name];
      const file = names.map(textOf).find((name) => name !== undefined && looksLikeFile.test(name));
      if (file === undefined) return undefined;
      return { message: `files cannot be read here: ${file}`, position: positionOf(node) };
    }
    case "VALUE_PARAMETER":
      return { message: "parameters cannot be given here", position: positionOf(node) };
    default:
      return undefined;
  }
}

function positionOf(node: Node): number | undefined {
  const location = node.query_location;
  return typeof location === "number" ? location : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
