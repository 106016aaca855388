/**
 * What planning needs from DuckDB: its parser, its SQL writer, its binder, and its function
 * catalog. Nothing here reads table rows.
 */

import { quoteName, quoteText, readSerializedSql } from "../../../data/sql/core/index.ts";
import { messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import { isTree, rewriteTree, type Tree, treeOf } from "./syntax.ts";

export interface ColumnType {
  readonly name: string;
  /** A type in DuckDB's syntax. */
  readonly type: string;
}

export interface FunctionCatalog {
  /** Names in lower case. */
  readonly aggregates: ReadonlySet<string>;
  /** Functions whose value changes with each call or each transaction. */
  readonly volatile: ReadonlySet<string>;
  readonly macros: ReadonlySet<string>;
}

export interface SqlTool {
  /** The query node of one SELECT. Throws `bad_sql` with DuckDB's message for anything else. */
  parse(select: string): Promise<Tree>;
  /** Writes query nodes as SQL. */
  write(nodes: readonly Tree[]): Promise<readonly string[]>;
  /** Binds a SELECT that reads nothing outside its own text. Throws `bad_sql`. */
  describe(select: string): Promise<readonly ColumnType[]>;
  functions(): Promise<FunctionCatalog>;
}

/** Runs a statement and returns its rows as objects of texts, numbers and nulls. */
export type RunSql = (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;

export function duckdbSqlTool(run: RunSql): SqlTool {
  let catalog: Promise<FunctionCatalog> | undefined;
  return {
    parse: (select) => parse(run, select),
    write: (nodes) => write(run, nodes),
    describe: (select) => describe(run, select),
    functions: () => {
      catalog ??= readFunctions(run);
      return catalog;
    },
  };
}

async function parse(run: RunSql, select: string): Promise<Tree> {
  const rows = await run(
    `SELECT CAST(json_serialize_sql(${quoteText(select)}) AS VARCHAR) AS parsed`,
  );
  const read = readSerializedSql(String(rows[0]?.parsed), { exact: true });
  if (read.kind === "problem") {
    throw new OperatingError("bad_sql", "never", read.problem.message);
  }
  const { node } = read.statement;
  if (!isTree(node)) throw new OperatingError("bad_sql", "never", "there is no SELECT");
  return withoutLocations(rewriteTree(node, exactConstant)) as Tree;
}

/** Removes positions, so that equal expressions in different places are equal. */
function withoutLocations(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutLocations);
  if (!isTree(value)) return value;
  const entries = Object.entries(value).filter(([key]) => key !== "query_location");
  return Object.fromEntries(entries.map(([key, entry]) => [key, withoutLocations(entry)]));
}

/** DuckDB writes `1e10` as a DECIMAL, which compares differently, and cannot write infinity. */
function exactConstant(tree: Tree): Tree | undefined {
  const constant = tree.type === "VALUE_CONSTANT" ? treeOf(tree, "value") : undefined;
  const type = constant === undefined ? undefined : treeOf(constant, "type");
  if (constant === undefined || type?.id !== "DOUBLE" || constant.is_null === true)
    return undefined;
  const { value } = constant;
  const text = {
    type: { id: "VARCHAR", type_info: null },
    is_null: false,
    value: typeof value === "string" ? value : JSON.stringify(value),
  };
  return {
    class: "CAST",
    type: "OPERATOR_CAST",
    alias: tree.alias,
    child: { ...tree, alias: "", value: text },
    cast_type: type,
    try_cast: false,
  };
}

async function write(run: RunSql, nodes: readonly Tree[]): Promise<readonly string[]> {
  if (nodes.length === 0) return [];
  const items = nodes.map((node, index) => {
    const json = JSON.stringify({ error: false, statements: [{ node, named_param_map: [] }] });
    return `json_deserialize_sql(${quoteText(json)}::JSON) AS w${index}`;
  });
  const [row] = await run(`SELECT ${items.join(", ")}`);
  return nodes.map((_, index) => String(row?.[`w${index}`]));
}

async function describe(run: RunSql, select: string): Promise<readonly ColumnType[]> {
  try {
    const rows = await run(`DESCRIBE ${select}`);
    return rows.map((row) => ({
      name: String(row.column_name),
      type: String(row.column_type),
    }));
  } catch (thrown) {
    throw new OperatingError("bad_sql", "never", messageOf(thrown), { cause: thrown });
  }
}

async function readFunctions(run: RunSql): Promise<FunctionCatalog> {
  const rows = await run(
    "SELECT DISTINCT lower(function_name) AS name, function_type AS type, coalesce(stability, '') AS stability " +
      "FROM duckdb_functions() WHERE function_type IN ('aggregate', 'scalar', 'macro')",
  );
  const pick = (accept: (type: string, stability: string) => boolean) =>
    new Set(
      rows
        .filter((row) => accept(String(row.type), String(row.stability)))
        .map((row) => String(row.name)),
    );
  return {
    aggregates: pick((type) => type === "aggregate"),
    volatile: pick((type, stability) => type === "scalar" && stability !== "CONSISTENT"),
    macros: pick((type) => type === "macro"),
  };
}

/** A SELECT without rows that has these columns. */
export function emptySelect(columns: readonly ColumnType[]): string {
  const items = columns.map(({ name, type }) => `CAST(NULL AS ${type}) AS ${quoteName(name)}`);
  return `SELECT ${items.join(", ")} WHERE false`;
}
