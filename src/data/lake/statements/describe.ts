/** Asks DuckDB for a statement's columns, without files: tables exist by their types alone. */
import type { Engine } from "../../duckdb/index.ts";
import type { ColumnDefinition } from "../../sql/core/index.ts";
import type { NewColumn } from "../core/index.ts";
import { tableSql } from "../duckdb/relation-sql.ts";
import type { BoundQuery } from "./bound-query.ts";

type Describer = Pick<Engine, "withSession">;
type Checker = Pick<Engine, "withSession" | "parse">;

export interface DescribedColumn {
  readonly name: string;
  /** The type in DuckDB's notation. */
  readonly type: string;
}

/** Throws `bad_sql` if the query does not bind. */
export async function describeQuery(
  engine: Describer,
  { sql, tables }: BoundQuery,
  signal: AbortSignal,
  options: { readonly rowIds?: boolean } = {},
): Promise<readonly DescribedColumn[]> {
  const relations = tables.map(({ schema, name, version }, index) => ({
    schema,
    name,
    sql: tableSql(
      { ...version, files: [] },
      { rowIds: options.rowIds === true && index === 0, localPaths: new Map() },
    ),
  }));
  const rows = await engine.withSession(relations, signal, (session) =>
    session.run(`DESCRIBE ${sql}`, signal),
  );
  return rows.map(([name, type]) => ({ name: String(name), type: String(type) }));
}

/**
 * The user's columns with DuckDB's types. Throws `bad_sql` for expressions that no user's SELECT
 * may have.
 */
export async function describeColumns(
  engine: Checker,
  definitions: readonly ColumnDefinition[],
  signal: AbortSignal,
): Promise<readonly NewColumn[]> {
  const columns = definitions.map(({ name, type, nullable, defaultValue }) => ({
    name,
    type: type.text,
    nullable,
    defaultValue: defaultValue?.text,
  }));
  // Both become parts of our own statements, which are not checked again.
  for (const { type, defaultValue = "NULL" } of columns) {
    await engine.parse(`SELECT CAST(NULL AS ${type}\n), (${defaultValue}\n)`, signal);
  }
  // DuckDB refuses invalid defaults: columns, aggregates, tables.
  const list = columns
    .map(({ type, defaultValue }, index) => {
      return `c${index} ${type}${defaultValue === undefined ? "" : ` DEFAULT (${defaultValue}\n)`}`;
    })
    .join(", ");
  return await engine.withSession([], signal, async (session) => {
    await session.run(`CREATE TABLE _described (${list})`, signal);
    const rows = await session.run("DESCRIBE _described", signal);
    return columns.map((column, index) => ({ ...column, type: String(rows[index]?.[1]) }));
  });
}
