/**
 * What a worker writes for a statement that changes rows, and what it has written. It becomes part
 * of the lake when the coordinator commits it.
 */

import { quoteName } from "../../sql/core/index.ts";
import type {
  FileId,
  LakeTable,
  NeededFile,
  NewDataFile,
  NewDeleteFile,
  TableVersion,
} from "../core/index.ts";
import type { BoundQuery, BoundTable } from "./bound-query.ts";

export interface LakeInsert {
  readonly op: "insert";
  readonly table: Pick<LakeTable, "path" | "columns">;
  /** The columns that the query gives; the others get their defaults. */
  readonly columns: readonly string[];
  readonly query: BoundQuery;
}

/** COPY … FROM: DuckDB reads the file by its own rules and options. */
export interface LakeCopy {
  readonly op: "copy";
  readonly table: Pick<LakeTable, "path" | "columns">;
  readonly columns: readonly string[] | undefined;
  /** A file in the object store. */
  readonly source: NeededFile;
  readonly options: readonly (readonly [name: string, value: string])[];
}

/** UPDATE and DELETE. `query` is `changeSql`; its first table is the changed one. */
export interface LakeChange {
  readonly op: "update" | "delete";
  readonly query: BoundQuery;
}

/** Files of a table to rewrite as fewer. */
export interface LakeCompaction {
  readonly op: "compact";
  readonly version: TableVersion;
  readonly files: readonly FileId[];
}

export type LakeWrite = LakeInsert | LakeChange | LakeCopy | LakeCompaction;

export interface LakeWritten {
  readonly added: readonly NewDataFile[];
  readonly deletes: readonly NewDeleteFile[];
  readonly ended: readonly FileId[];
  readonly insertedCount: number;
  readonly deletedCount: number;
  /** Lines of a copied file that did not fit and were ignored. */
  readonly linesLeftOut?: number;
}

/** The parts of an UPDATE or DELETE in the user's text. */
export interface ChangeParts {
  readonly alias: string | undefined;
  /** Undefined for a DELETE. */
  readonly set: readonly { readonly column: string; readonly value: string }[] | undefined;
  /** FROM of an UPDATE, USING of a DELETE. */
  readonly from: string | undefined;
  readonly where: string | undefined;
}

/**
 * Selects the rows that change, each once: their positions and, with `set`, their new values in all
 * columns. Each part of the user's text ends with a line break, which ends a comment.
 */
export function changeSql({ table }: BoundTable["version"], parts: ChangeParts): string {
  const target = quoteName(parts.alias ?? table.name);
  const values = new Map(parts.set?.map(({ column, value }) => [column.toLowerCase(), value]));
  const columns = table.columns.map(({ name }) => {
    const value = values.get(name.toLowerCase());
    return value === undefined ? `${target}.${quoteName(name)}` : `(${value}\n)`;
  });
  const selected = [
    ...["_row_id", "_file_id", "_position"].map((name) => `${target}.${name}`),
    ...(parts.set === undefined ? [] : columns),
  ];
  const from = parts.from === undefined ? "" : `, ${parts.from}\n`;
  const where = parts.where === undefined ? "" : ` WHERE (${parts.where}\n)`;
  const name = `${quoteName(table.schema)}.${quoteName(table.name)}`;
  const distinct = parts.from === undefined ? "" : `DISTINCT ON (${target}._row_id) `;
  return `SELECT ${distinct}${selected.join(", ")} FROM ${name} AS ${target}${from}${where}`;
}

/** The query's rows with every column of the table, in order. */
export function insertSql({ table, columns, query }: LakeInsert): string {
  const given = new Map(columns.map((name, index) => [name.toLowerCase(), `q.v${index}`]));
  const selected = table.columns.map(({ name, defaultValue }) => {
    return given.get(name.toLowerCase()) ?? defaultValue ?? "NULL";
  });
  const names = columns.map((_, index) => `v${index}`);
  return `SELECT ${selected.join(", ")} FROM (${query.sql}\n) AS q(${names.join(", ")})`;
}
