/** A refresh's sources at the snapshots that its claim names. */
import type { ChangeScan, LakeCatalog, TableVersion } from "../../lake/index.ts";
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
  { tableId, from, to }: RefreshSource,
): Promise<ReadSource> {
  const now = await catalog.version(tableId, to);
  if (from === undefined) return { now, before: undefined, scan: undefined };
  const scan = await catalog.changes(tableId, from, to);
  if (scan === "gone" || !scan.sameColumns) return { now, before: undefined, scan: undefined };
  return { now, before: await catalog.version(tableId, from), scan };
}

export function rowsOf({ files }: TableVersion): number {
  return files.reduce(
    (sum, { recordCount, deletes }) => sum + recordCount - (deletes?.deleteCount ?? 0),
    0,
  );
}
