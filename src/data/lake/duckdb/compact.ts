/**
 * Rewrites files of a table so that there are fewer, or none with deleted rows. Nothing changes for
 * readers (LF17).
 *
 * Files without deletes are merged: the new file carries each row's snapshot and replaces them at
 * every snapshot. Once one has deletes or earlier columns, they are rewritten: the new file has the
 * remaining rows in the current columns, and past snapshots keep reading the old files.
 */
import { assert } from "../../../ground/kernel/errors.ts";
import type { LogFields } from "../../../ground/kernel/logger.ts";
import type { FileId, ObjectStore, TableChange, TableVersion } from "../core/index.ts";
import type { LakeWriter } from "./lake-writer.ts";
import { withFiles } from "./local-files.ts";
import { liveRows, scanSql } from "./scan-sql.ts";

export interface CompactionRequest {
  /** The newest version. */
  readonly version: TableVersion;
  /** The version's files to compact, all together. */
  readonly files: readonly FileId[];
}

interface CompactionParts {
  readonly writer: LakeWriter;
  readonly objects: ObjectStore;
  /** Whose work it is, for log lines. */
  readonly fields?: LogFields;
}

/** Undefined when there are fewer than two files and none with deletes. */
export async function compactFiles(
  { version, files: chosen }: CompactionRequest,
  { writer, objects, fields }: CompactionParts,
  signal: AbortSignal,
): Promise<TableChange | undefined> {
  const files = version.files.filter(({ fileId }) => chosen.includes(fileId));
  assert(files.length === chosen.length, "files that are compacted are of the version");
  assert(
    files.every(({ rowsUpTo }) => rowsUpTo === undefined),
    "only the newest version is compacted",
  );
  const isWhole = files.every(({ deletes }) => deletes === undefined);
  if (isWhole && files.length < 2) return undefined;
  const { schemaSnapshot } = version.table;
  const isMerge = isWhole && files.every(({ beginSnapshot }) => beginSnapshot >= schemaSnapshot);
  const merge = async (localPaths: ReadonlyMap<string, string>): Promise<TableChange> => {
    const select = scanSql(files.map(liveRows), {
      columns: version.table.columns,
      leading: isMerge ? ["_row_id", "_row_snapshot"] : ["_row_id"],
      localPaths,
    });
    const request = {
      select,
      table: version.table,
      rowIds: "inFile",
      rowSnapshots: isMerge,
    } as const;
    return {
      kind: "changeRows",
      tableId: version.table.tableId,
      added: await writer.writeRows(request, signal),
      deletes: [],
      ended: files.map(({ fileId }) => fileId),
      isCompaction: true,
    };
  };
  return await withFiles(objects, [{ ...version, files }], signal, merge, fields);
}
