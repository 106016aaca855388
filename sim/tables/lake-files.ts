/**
 * Simulated files of the lake, whose rows are numbers, and what a table's version shows of them.
 */

import type {
  ChangedFile,
  DataFile,
  DeleteFile,
  FileId,
  LakeTable,
  NewDataFile,
  NewDeleteFile,
  SnapshotId,
  TableVersion,
} from "../../src/data/lake/index.ts";
import { assert } from "../../src/ground/kernel/errors.ts";

export type LakeFile =
  | {
      readonly kind: "data";
      readonly values: readonly number[];
      /** Undefined when the catalog assigns the ids. */
      readonly rowIds: readonly number[] | undefined;
      /** For a merged file: the snapshot that each row came with. */
      readonly snapshots: readonly number[] | undefined;
    }
  | { readonly kind: "delete"; readonly positions: readonly number[] };

export type ReadFile = (path: string) => LakeFile;

/** A row and where it is. */
export interface PlacedRow {
  readonly rowId: number;
  readonly value: number;
  readonly snapshot: number;
  readonly fileId: FileId;
  readonly position: number;
}

const rowBytes = 8;
const footerSize = 10;

export function sizeOf(file: LakeFile): number {
  const count = file.kind === "data" ? file.values.length : file.positions.length;
  return footerSize + rowBytes * count;
}

/** Describes a file to the catalog, as its writer does. */
export function describeData(
  path: string,
  table: Pick<LakeTable, "columns">,
  file: Extract<LakeFile, { kind: "data" }>,
): NewDataFile {
  const { values, rowIds, snapshots } = file;
  const columns = table.columns.map(({ columnId }) => ({
    columnId,
    sizeBytes: rowBytes * values.length,
    valueCount: values.length,
    nullCount: 0,
    min: `${Math.min(...values)}`,
    max: `${Math.max(...values)}`,
    containsNan: undefined,
  }));
  const described = {
    path,
    recordCount: values.length,
    sizeBytes: sizeOf(file),
    footerSize,
    columns,
    rowIds: rowIds === undefined ? ("fresh" as const) : ("inFile" as const),
  };
  if (snapshots === undefined) return described;
  const [min, max] = [Math.min(...snapshots), Math.max(...snapshots)];
  return { ...described, rowSnapshots: { min: min as SnapshotId, max: max as SnapshotId } };
}

export function describeDeletes(
  path: string,
  dataFileId: FileId,
  file: Extract<LakeFile, { kind: "delete" }>,
): NewDeleteFile {
  const deleteCount = file.positions.length;
  return { dataFileId, path, deleteCount, sizeBytes: sizeOf(file), footerSize };
}

/** Every file that a reader needs. */
export function pathsOf(
  versions: readonly TableVersion[],
  changes: readonly ChangedFile[] = [],
): readonly string[] {
  const paths = new Set<string>();
  const add = (file: DataFile): void => {
    paths.add(file.path);
    if (file.deletes !== undefined) paths.add(file.deletes.path);
  };
  for (const { files } of versions) files.forEach(add);
  for (const { file, rows } of changes) {
    add(file);
    if (rows.kind === "live") continue;
    paths.add(rows.deletes.path);
    if (rows.before !== undefined) paths.add(rows.before.path);
  }
  return [...paths];
}

export function readRows({ files }: TableVersion, read: ReadFile): readonly PlacedRow[] {
  return files.flatMap((file) => liveRows(file, read));
}

export function liveRows(file: DataFile, read: ReadFile): readonly PlacedRow[] {
  const gone = positionsOf(file.deletes, read);
  return allRows(file, read).filter(({ position }) => !gone.has(position));
}

/** The rows that a change names. */
export function readChanged(changed: ChangedFile, read: ReadFile): readonly PlacedRow[] {
  const { file, rowsAfter, rows } = changed;
  const isNew = ({ snapshot }: PlacedRow): boolean =>
    rowsAfter === undefined || snapshot > rowsAfter;
  if (rows.kind === "live") return liveRows(file, read).filter(isNew);
  const [deletes, before] = [positionsOf(rows.deletes, read), positionsOf(rows.before, read)];
  return allRows(file, read).filter(
    (row) => isNew(row) && deletes.has(row.position) && !before.has(row.position),
  );
}

function allRows(file: DataFile, read: ReadFile): readonly PlacedRow[] {
  const content = read(file.path);
  assert(content.kind === "data", `${file.path} has rows`);
  const { values, rowIds, snapshots } = content;
  return values
    .map((value, position) => {
      const rowId = file.rowIdStart === undefined ? rowIds?.[position] : file.rowIdStart + position;
      assert(rowId !== undefined, "every row has an id");
      const snapshot = snapshots?.[position] ?? file.beginSnapshot;
      return { rowId, value, snapshot, fileId: file.fileId, position };
    })
    .filter(({ snapshot }) => file.rowsUpTo === undefined || snapshot <= file.rowsUpTo);
}

export function positionsOf(deletes: DeleteFile | undefined, read: ReadFile): ReadonlySet<number> {
  if (deletes === undefined) return new Set();
  const content = read(deletes.path);
  assert(content.kind === "delete", `${deletes.path} has positions`);
  return new Set(content.positions);
}
