/** What a Lake sink prepares for the commit: files in the object store that nobody names yet. */
import type {
  ColumnStatistics,
  Commit,
  LakeColumn,
  LakeTable,
  NewDataFile,
  SnapshotId,
  TableChange,
  TableId,
} from "../../../../data/lake/core/index.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";

export interface PreparedFiles {
  readonly tableId: TableId;
  readonly table: string;
  /** The snapshot of the columns that the files were written for. */
  readonly readSnapshot: SnapshotId;
  readonly columns: readonly Pick<LakeColumn, "columnId" | "name" | "type">[];
  readonly files: readonly NewDataFile[];
  /** When the first of them was put, by the wall clock of the process. */
  readonly putAtMs: number;
}

/**
 * The lake's upkeep deletes files of nobody after a day; older ones may be gone already, for
 * example because the machine slept (SU44).
 */
export const preparedMsMax: number = 12 * 3_600_000;

export function parsePrepared(text: string): PreparedFiles {
  return JSON.parse(text) as PreparedFiles;
}

export function checkAge({ table, putAtMs }: PreparedFiles, nowMs: number): void {
  if (nowMs - putAtMs < preparedMsMax) return;
  const hours = Math.round((nowMs - putAtMs) / 3_600_000);
  throw new OperatingError(
    "conflict",
    "never",
    `rows for the table ${table} were written ${hours} hours ago and never committed, so their files may be deleted`,
    { hint: "Run the query again: it goes on from its last checkpoint." },
  );
}

/** Files for one table are one change, whoever wrote them. */
export function changesOf(prepared: readonly PreparedFiles[]): Commit["changes"] {
  const byTable = Map.groupBy(prepared, ({ tableId }) => tableId);
  return [...byTable].map(([tableId, all]): TableChange => {
    const added = all.flatMap(({ files }) => files);
    const none = { deletes: [], ended: [], isCompaction: false };
    return { kind: "changeRows", tableId, added, ...none };
  });
}

/**
 * The same files for the table as it is now, whose columns may have changed: rows are NULL in one
 * that was added. Throws where they do not fit any more.
 */
export function refit(prepared: PreparedFiles, table: LakeTable): PreparedFiles {
  const { table: name, columns, files } = prepared;
  const lost = columns.find(
    (column) => !table.columns.some(({ columnId }) => columnId === column.columnId),
  );
  if (lost !== undefined) throw changed(name, `its column ${lost.name} was dropped`);
  const known = new Set(files[0]?.columns.map(({ columnId }) => columnId));
  const added = table.columns.filter(({ columnId }) => !known.has(columnId));
  const strict = added.find(
    ({ nullable, initialDefault }) => !nullable || initialDefault !== undefined,
  );
  if (strict !== undefined) {
    throw changed(name, `it has the column ${strict.name} now, which no row of the stream has`);
  }
  const none = { sizeBytes: 0, valueCount: 0, min: undefined, max: undefined };
  const statistics = (nullCount: number): ColumnStatistics[] =>
    added.map(({ columnId }) => ({ columnId, ...none, nullCount, containsNan: undefined }));
  return {
    ...prepared,
    files: files.map((file) => ({
      ...file,
      columns: [...file.columns, ...statistics(file.recordCount)],
    })),
  };
}

function changed(table: string, what: string): OperatingError {
  return new OperatingError("conflict", "never", `the table ${table} was changed: ${what}`, {
    hint: "Change the query, and start without the checkpoint.",
  });
}
