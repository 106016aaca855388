/** Reads a refresh's sources at the snapshots of its claim. */
import {
  type ChangeScan,
  type LakeCatalog,
  type LakeTable,
  type TableVersion,
  visibleColumns,
} from "../../../data/lake/index.ts";
import { nameKey } from "../../../data/sql/core/index.ts";
import type { RefreshSource } from "../core/index.ts";

/** A source as a refresh reads it. */
export interface ReadSource {
  readonly now: TableVersion;
  readonly before: TableVersion | undefined;
  /** Undefined when the changes cannot be told. */
  readonly scan: ChangeScan | undefined;
}

/** If the older snapshot is gone or the columns changed, only the whole source can be read. */
export async function readSource(
  catalog: Pick<LakeCatalog, "changes" | "version">,
  { tableId, from, to, columns }: RefreshSource,
): Promise<ReadSource> {
  const now = seenVersion(await catalog.version(tableId, to), columns);
  if (from === undefined) return { now, before: undefined, scan: undefined };
  const scan = await catalog.changes(tableId, from, to);
  if (scan === "gone" || !scan.sameColumns) return { now, before: undefined, scan: undefined };
  return { now, before: seenVersion(await catalog.version(tableId, from), columns), scan };
}

function seenVersion(version: TableVersion, columns: readonly string[] | undefined): TableVersion {
  return { ...version, table: seenTable(version.table, columns) };
}

/** A source with only the columns that the definition knows, in their original order. */
export function seenTable(table: LakeTable, columns: readonly string[] | undefined): LakeTable {
  if (columns === undefined) return table;
  const byKey = new Map(visibleColumns(table).map((column) => [nameKey(column.name), column]));
  return { ...table, columns: columns.flatMap((name) => byKey.get(nameKey(name)) ?? []) };
}

export function rowsOf({ files }: TableVersion): number {
  return files.reduce(
    (sum, { recordCount, deletes }) => sum + recordCount - (deletes?.deleteCount ?? 0),
    0,
  );
}
