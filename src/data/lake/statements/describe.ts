/** What DuckDB says of a statement's columns, without any file: tables are there by their types alone. */
import type { Engine } from "../../duckdb/index.ts";
import type { ColumnDefinition } from "../../sql/core/index.ts";
import type { NewColumn } from "../core/index.ts";
import { tableSql } from "../duckdb/relation-sql.ts";
import type { BoundQuery } from "./bound-query.ts";

type Describer = Pick<Engine, "withSession">;
type Checker = Pick<Engine, "withSession" | "parse">;

export interface DescribedColumn {
  readonly name: string;
  /** DuckDB's words. */
  readonly type: string;
}

/** Throws `bad_sql` where the query does not bind. */
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
 * Columns as a person wrote them, with types as DuckDB knows them. Throws `bad_sql` for what no SELECT
 * of a person may have.
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
  // Both become parts of statements of our own, of which nobody asks what they read.
  for (const { type, defaultValue = "NULL" } of columns) {
    await engine.parse(`SELECT CAST(NULL AS ${type}\n), (${defaultValue}\n)`, signal);
  }
  // DuckDB refuses what is no default: columns, aggregates, tables.
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
