/**
 * What a load test may ask of a database that runs inside of Capstan's own processes (DuckDB,
 * SQLite): to read and change its own tables. Everything else such an engine can do (open other
 * files, load code, change its settings, write logs) it would do as Capstan's user. Rules: TX1 to
 * TX3.
 *
 * Servers (Postgres, MySQL, Snowflake, HTTP) judge other statements by the account that the run
 * connects with.
 */

import {
  looksLikeFile,
  scanTokens,
  splitStatements,
  type Token,
} from "../../../data/sql/core/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { Scenario, TargetConfig } from "./scenario.ts";

export type FileKind = "duckdb" | "sqlite";

const common = [
  ...["select", "with", "values", "insert", "update", "delete", "create", "drop", "alter"],
  ...["analyze", "vacuum", "explain", "begin", "commit", "end", "rollback"],
];
const wordsAllowed: Readonly<Record<FileKind, ReadonlySet<string>>> = {
  duckdb: new Set([
    ...common,
    ...["from", "table", "truncate", "merge", "comment", "checkpoint", "start", "abort"],
    ...["describe", "show", "summarize", "pivot", "unpivot"],
  ]),
  sqlite: new Set([...common, "replace", "reindex", "savepoint", "release"]),
};

/**
 * Every table function, pragma and table macro of DuckDB 1.5 that is not in `duckdbTableFunctions`.
 */
const duckdbRefused = [
  ...["arrow_scan", "arrow_scan_dumb", "seq_scan", "read_duckdb", "glob", "sniff_csv"],
  ...["query", "query_table", "json_execute_serialized_sql", "json_serialize_plan"],
  ...["sql_auto_complete", "which_secret", "truncate_duckdb_logs", "copy_database"],
  ...["import_database", "add_parquet_key", "write_log", "current_setting", "getenv"],
  ...["check_peg_parser", "force_checkpoint", "test_vector_types", "all_profiling_output"],
];
const duckdbRefusedPattern =
  /^(read|parquet|duckdb|pragma|enable|disable|verify)_|_scan(_dumb)?$|_objects(_auto)?$/;
/** Views that show what refused functions do: settings, logs, where the database's file is. */
const duckdbBare = /^(pg_settings|duckdb_(databases|logs)|pragma_database_list)$/i;
const sqliteRefused = ["load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"];
/** SQLite's PRAGMAs as tables, which need no bracket: `FROM pragma_database_list`. */
const sqlitePragmaTable = /^pragma_/i;

/**
 * Table functions that only compute, and names that are also ordinary functions or tell of the
 * database's own tables.
 */
export const duckdbTableFunctions: ReadonlySet<string> = new Set([
  ...["checkpoint", "generate_series", "histogram", "histogram_values", "icu_calendar_names"],
  ...["json_each", "json_tree", "pg_timezone_names", "range", "repeat", "repeat_row", "summary"],
  ...["test_all_types", "unnest", "collations", "database_list", "database_size", "functions"],
  ...["extension_versions", "metadata_info", "platform", "show", "show_databases", "show_tables"],
  ...["show_tables_expanded", "storage_info", "table_info", "user_agent", "version"],
]);

export function isRefusedFunction(kind: FileKind, name: string): boolean {
  const text = name.toLowerCase();
  if (kind === "sqlite") return sqliteRefused.includes(text) || isPragmaTable(text);
  return duckdbRefused.includes(text) || duckdbRefusedPattern.test(text);
}

/** Whether it is one of SQLite's PRAGMAs as a table, which needs no call. */
export function isPragmaTable(name: string): boolean {
  return sqlitePragmaTable.test(name);
}

/** The problem of the statement. Undefined when none is found. */
export function targetSqlProblem(kind: TargetConfig["kind"], sql: string): string | undefined {
  if (kind === "snowflake") return transferProblem(sql);
  return isFileKind(kind) ? fileSqlProblem(kind, sql) : undefined;
}

/** Applies TX3. Snowflake's own client checks only the first three letters of a text. */
function transferProblem(sql: string): string | undefined {
  const { statements, rest } = splitStatements(sql);
  const heads = [sql, ...statements, rest].map((text) => text.replace(beforeStatement, ""));
  const isTransfer =
    /^(put|get)/i.test(sql.trim()) || heads.some((head) => /^(put|get)\b/i.test(head));
  return isTransfer ? "a load test of Snowflake does not run PUT or GET" : undefined;
}

/** Blanks, semicolons, brackets, and comments in Snowflake's three forms. */
const beforeStatement = /^(?:[\s;({]|--[^\n\r]*|\/\/[^\n\r]*|\/\*[\s\S]*?\*\/)+/;

function fileSqlProblem(kind: FileKind, sql: string): string | undefined {
  const { tokens } = scanTokens(sql);
  const words = statementTokens(tokens)
    .slice(0, 8)
    .map(({ kind: of, text }) => (of === "word" ? lower(text) : ""));
  const [first = ""] = words;
  if (!wordsAllowed[kind].has(first)) {
    const said = first === "" ? "this" : first.toUpperCase();
    return `a load test of ${nameOf(kind)} does not run ${said}`;
  }
  if (first === "create" && words.slice(1, 6).includes("secret")) {
    return `a load test of ${nameOf(kind)} does not run CREATE SECRET`;
  }
  if (first === "vacuum" && tokens.some((token) => lower(token.text) === "into")) {
    return `a load test of ${nameOf(kind)} does not run VACUUM INTO`;
  }
  const called = tokens.find((_, at) => isRefusedCall(kind, tokens, at));
  if (called !== undefined) {
    return `the function ${lower(called.value ?? called.text)} cannot be used in a load test of ${nameOf(kind)}`;
  }
  const file = kind === "duckdb" && tokens.some((_, at) => isFileName(tokens, at));
  return file ? `files cannot be read in a load test of ${nameOf(kind)}` : undefined;
}

/**
 * Throws `bad_sql`, naming the place, for a statement that no run may execute. Called before
 * anything is opened or stored.
 */
export function checkScenarioSql({
  target,
  workload,
}: Pick<Scenario, "target" | "workload">): void {
  const { kind } = target;
  const texts = [
    ...target.loadSql.map((sql, at) => [`target.load_sql[${at}]`, sql] as const),
    ...target.resetSql.map((sql, at) => [`target.reset_sql[${at}]`, sql] as const),
    ...workload.operations.flatMap(({ name, statements }) =>
      statements.map((sql, at) => [`operation ${name}, statement ${at + 1}`, sql] as const),
    ),
  ];
  for (const [path, sql] of texts) {
    const problem = targetSqlProblem(kind, sql);
    if (problem !== undefined) {
      throw refusedTargetSql(kind, `${path}: ${problem}`);
    }
  }
}

export function refusedTargetSql(kind: TargetConfig["kind"], message: string): OperatingError {
  const hint = kind === "snowflake" ? transferHint : targetSqlHint;
  return new OperatingError("bad_sql", "never", message, { hint });
}

const targetSqlHint =
  "It may read and change the tables of its own database, and nothing else: no files, no settings, no extensions.";
const transferHint =
  "Put files into a stage, or take them from one, with a client of your own; COPY INTO reads and writes stages.";

export function isFileKind(kind: TargetConfig["kind"]): kind is FileKind {
  return kind === "duckdb" || kind === "sqlite";
}

/**
 * The tokens without a leading EXPLAIN with its options, and without leading brackets and
 * semicolons.
 */
function statementTokens(tokens: readonly Token[]): readonly Token[] {
  const start = tokens.findIndex(({ text }) => text !== "(" && text !== ";");
  const rest = start < 0 ? [] : tokens.slice(start);
  if (lower(rest[0]?.text ?? "") !== "explain") return rest;
  let at = 1;
  if (rest[at]?.text === "(" && isExplainOption(rest[at + 1])) {
    while (at < rest.length && rest[at]?.text !== ")") at += 1;
    at += 1;
  }
  while (explainWords.has(lower(rest[at]?.text ?? ""))) at += 1;
  // Repeated for EXPLAIN of EXPLAIN, and of a statement in brackets.
  return at < rest.length ? statementTokens(rest.slice(at)) : rest;
}

/** `EXPLAIN (FORMAT json)`, but not `EXPLAIN (SELECT 1)`. */
function isExplainOption(token: Token | undefined): boolean {
  return /^(analyze|format|verbose|costs|buffers|timing|summary|settings|wal)$/i.test(
    token?.text ?? "",
  );
}

const explainWords: ReadonlySet<string> = new Set(["analyze", "query", "plan"]);

/**
 * `name (`, however it is quoted, unless it is a table that is made or filled. SQLite's PRAGMAs as
 * tables, and some views of DuckDB, need no bracket.
 */
function isRefusedCall(kind: FileKind, tokens: readonly Token[], at: number): boolean {
  const token = tokens[at];
  if (token === undefined) return false;
  if (token.kind !== "word" && token.kind !== "quotedName") return false;
  const name = token.value ?? token.text;
  const isBare = kind === "sqlite" ? isPragmaTable(name) : duckdbBare.test(name);
  if (!isBare && tokens[at + 1]?.text !== "(") return false;
  if (!isBare && !isRefusedFunction(kind, name)) return false;
  let before = at - 1;
  while (tokens[before]?.text === ".") before -= 2;
  return !/^(into|table|exists|references)$/i.test(tokens[before]?.text ?? "");
}

/** DuckDB reads `FROM 'file'` and `FROM "dir/file"` as a file, wherever a table may stand. */
function isFileName(tokens: readonly Token[], at: number): boolean {
  const token = tokens[at];
  const isName = token?.kind === "quotedName" && looksLikeFile(token.value ?? token.text);
  if (token?.kind !== "text" && !isName) return false;
  if (tokens[at + 1]?.text === "." || tokens[at - 1]?.text === ".") return false;
  const before = tokens[at - 1];
  if (before?.text === ",") return isInFrom(tokens, at - 1);
  if (before?.kind !== "word") return false;
  if (/^(describe|desc|show|summarize|pivot|unpivot|table)$/i.test(before.text)) return true;
  return isFromWord(tokens, at - 1);
}

/** `a IS DISTINCT FROM 'b'`, `extract(x FROM 'b')` and `trim(x FROM 'b')` compare and compute. */
function isFromWord(tokens: readonly Token[], at: number): boolean {
  if (!/^(from|join)$/i.test(tokens[at]?.text ?? "")) return false;
  return !/^distinct$/i.test(tokens[at - 1]?.text ?? "") && !isInCall(tokens, at);
}

/** Whether the comma is between the tables of a FROM, at its own depth of brackets. */
function isInFrom(tokens: readonly Token[], at: number): boolean {
  let depth = 0;
  for (let index = at - 1; index >= 0; index -= 1) {
    const { kind, text } = tokens[index] as Token;
    if (text === ")" || text === "]" || text === "}") depth += 1;
    else if (text === "(" || text === "[" || text === "{") {
      if (depth === 0) return false;
      depth -= 1;
    } else if (depth > 0 || kind !== "word") continue;
    else if (isFromWord(tokens, index)) return true;
    else if (clauseWords.test(text)) return false;
  }
  return false;
}

const clauseWords =
  /^(select|where|group|having|order|limit|values|set|on|window|qualify|returning|in|by)$/i;

/**
 * Whether the innermost bracket that is open here belongs to a function such as `extract(year FROM
 * …)`.
 */
function isInCall(tokens: readonly Token[], at: number): boolean {
  let depth = 0;
  for (let index = at - 1; index >= 0; index -= 1) {
    const { text } = tokens[index] as Token;
    if (text === ")") depth += 1;
    else if (text !== "(") continue;
    else if (depth > 0) depth -= 1;
    else return /^(extract|trim|substring|overlay|position)$/i.test(tokens[index - 1]?.text ?? "");
  }
  return false;
}

function lower(text: string): string {
  return text.toLowerCase();
}

function nameOf(kind: FileKind): string {
  return kind === "duckdb" ? "DuckDB" : "SQLite";
}
