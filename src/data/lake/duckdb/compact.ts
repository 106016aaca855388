/**
 * Rewriting files of a table so that there are fewer, or none with deleted rows. Nothing changes for readers: rows keep their
 * ids, and where history is served from the new files, also the snapshot that each came with.
 *
 *   CP1  Files without deletes are merged: the new file says each row's snapshot and takes their place at every snapshot.
 *   CP2  Once one of them has deletes, or is older than the table's columns, they are rewritten: the new file has the rows that
 *        are left, in the columns of now, and begins with the commit; whoever reads the past finds deleted rows and dropped
 *        columns in the old ones.
 */
import { assert } from "../../../ground/kernel/errors.ts";
import type { LogFields } from "../../../ground/kernel/logger.ts";
import type { FileId, ObjectStore, TableChange, TableVersion } from "../core/index.ts";
import type { LakeWriter } from "./lake-writer.ts";
import { withFiles } from "./local-files.ts";
import { liveRows, scanSql } from "./scan-sql.ts";

export interface CompactionRequest {
  /** The newest. */
  readonly version: TableVersion;
  /** Of its files, all of them together. */
  readonly files: readonly FileId[];
}

interface CompactionParts {
  readonly writer: LakeWriter;
  readonly objects: ObjectStore;
  /** Whose work it is, for log lines. */
  readonly fields?: LogFields;
}

/** `undefined`: there is nothing to gain, less than two files and none with deletes. */
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
