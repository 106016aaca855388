/**
 * What a refresh reads, as texts for a FROM. Views would be slower: DuckDB binds a view when it is
 * created, even one that is never read. Only the definition's own text uses its sources by name,
 * and so do parts, whose SQL is written before a worker's file locations are known.
 */

import type { Engine } from "../../../data/duckdb/index.ts";
import {
  roughChangeSql,
  type TableVersion,
  tableSql,
  visibleColumns,
} from "../../../data/lake/index.ts";
import { quoteName } from "../../../data/sql/core/index.ts";
import { assert } from "../../../ground/kernel/errors.ts";
import type { RefreshNames } from "../incremental/index.ts";
import type { ReadSource } from "./read-sources.ts";

export type Relations = Parameters<Engine["withSession"]>[0];
type LocalPaths = ReadonlyMap<string, string>;

/** Not a schema of the lake, so that it cannot collide with a user's table. */
const partSchema = "_refresh";

export class RefreshTexts implements RefreshNames {
  readonly stored: string;
  readonly storedKey: readonly string[] = ["_file_id", "_position"];
  readonly #sources: readonly ReadSource[];
  readonly localPaths: LocalPaths;

  constructor(stored: TableVersion, sources: readonly ReadSource[], localPaths: LocalPaths) {
    this.stored = `(${tableSql(stored, { rowIds: true, localPaths })})`;
    this.#sources = sources;
    this.localPaths = localPaths;
  }

  temporary(name: string): string {
    return `_t_${name}`;
  }

  source = (index: number, rows: "added" | "new" | "old" | "removed"): string => {
    const source = this.#sources[index];
    assert(source !== undefined, "a plan reads its sources");
    const localPaths = this.localPaths;
    const { now, before, scan } = source;
    if (rows === "new") return `(${wholeSql(now, localPaths)})`;
    assert(before !== undefined && scan !== undefined, "what changed is known");
    const sql =
      rows === "old"
        ? tableSql(before, { rowIds: true, localPaths })
        : roughChangeSql(scan, { localPaths })[rows];
    return `(${withRowIds(now, sql)})`;
  };

  /** The sources by their own names, for the definition's text. */
  relations(): Relations {
    const localPaths = this.localPaths;
    return this.#sources.map(({ now }) => {
      const columns = columnNames(now).join(", ");
      const sql = `SELECT ${columns} FROM (${tableSql(now, { rowIds: false, localPaths })})`;
      return { schema: now.table.schema, name: now.table.name, sql };
    });
  }
}

/** A source's name in the SQL of a part. It never changes: workers of all versions use it. */
export function partSource(source: number): string {
  return `${partSchema}.source_${source}`;
}

export function partRelations(
  versions: readonly TableVersion[],
  localPaths: LocalPaths,
): Relations {
  return versions.map((version, index) => ({
    schema: partSchema,
    name: `source_${index}`,
    sql: wholeSql(version, localPaths),
  }));
}

function wholeSql(version: TableVersion, localPaths: LocalPaths): string {
  return withRowIds(version, tableSql(version, { rowIds: true, localPaths }));
}

function withRowIds(version: TableVersion, sql: string): string {
  return `SELECT ${["_row_id", ...columnNames(version)].join(", ")} FROM (${sql})`;
}

function columnNames({ table }: TableVersion): readonly string[] {
  return visibleColumns(table).map(({ name }) => quoteName(name));
}
