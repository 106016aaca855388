/** A refresh's sources at the snapshots that its claim names. */
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
  /** `undefined`: what changed cannot be told. */
  readonly scan: ChangeScan | undefined;
}

/** The snapshot before may be gone, and the columns may be others: then only the whole of it can be read. */
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

/**
 * A source as a definition sees it that knows these columns: what was added since is not there, and
 * the order is as it was.
 */
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
