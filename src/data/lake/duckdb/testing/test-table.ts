/**
 * One table at each of its snapshots, as a catalog would describe its files. Commits follow the
 * catalog's rules.
 */
import { join } from "node:path";
import { assert } from "../../../../ground/kernel/errors.ts";
import { fieldTree, flattenField } from "../../core/column-types.ts";
import type {
  ChangedFile,
  ChangeScan,
  DataFile,
  DeleteFile,
  FileId,
  LakeColumn,
  NewColumn,
  NewDataFile,
  NewDeleteFile,
  SnapshotId,
  TableId,
  TableVersion,
} from "../../core/index.ts";
import { filesOf, type RelationOptions } from "../relation-sql.ts";

export interface RowChange {
  readonly added?: readonly NewDataFile[];
  /** Added like `added`. */
  readonly moved?: readonly NewDataFile[];
  readonly deletes?: readonly NewDeleteFile[];
  readonly ended?: readonly FileId[];
}

export class TestTable {
  readonly versions = new Map<SnapshotId, TableVersion>();
  readonly #root: string;
  #nextColumnId = 1;
  #nextRowId = 0;
  #nextFileId = 0;

  constructor(root: string, columns: readonly NewColumn[]) {
    this.#root = root;
    const table = {
      tableId: 1 as TableId,
      uuid: "table",
      schema: "main",
      name: "t",
      path: "main/t",
      columns: columns.map((column) => this.#numbered(column, undefined)),
      schemaSnapshot: 1 as SnapshotId,
    };
    this.versions.set(1 as SnapshotId, { snapshot: 1 as SnapshotId, table, files: [] });
  }

  get now(): TableVersion {
    const version = this.versions.get(this.versions.size as SnapshotId);
    assert(version !== undefined, "snapshots are numbered from 1");
    return version;
  }

  get nextSnapshot(): SnapshotId {
    return (this.versions.size + 1) as SnapshotId;
  }

  options(relation: TableVersion | ChangeScan, rowIds = true): RelationOptions {
    const localPaths = new Map(filesOf(relation).map(({ path }) => [path, join(this.#root, path)]));
    return { rowIds, localPaths };
  }

  alter(
    columns: readonly (
      | LakeColumn
      | (NewColumn & { readonly initialDefault: string | undefined })
    )[],
  ): void {
    const snapshot = this.nextSnapshot;
    const numbered = columns.map((column) =>
      "columnId" in column ? column : this.#numbered(column, column.initialDefault),
    );
    const table = { ...this.now.table, columns: numbered, schemaSnapshot: snapshot };
    this.versions.set(snapshot, { ...this.now, snapshot, table });
  }

  change({ added: fresh = [], moved = [], deletes = [], ended = [] }: RowChange): void {
    const snapshot = this.nextSnapshot;
    const added = [...moved, ...fresh];
    const merged = added.filter(({ rowSnapshots }) => rowSnapshots !== undefined);
    const before = this.now;
    const newDeletes = new Map(deletes.map((file) => [file.dataFileId, file]));
    const kept = before.files.filter(({ fileId }) => !ended.includes(fileId));
    const files = kept.map((file): DataFile => {
      const replacement = newDeletes.get(file.fileId);
      if (replacement === undefined) return file;
      const newFile = this.#deleteFile(replacement, file.deletes, snapshot);
      if (newFile.hasRowSnapshots) this.#replaceDeletes(file.deletes, newFile);
      return { ...file, deletes: newFile };
    });
    const addedFiles = added.map((file) => this.#dataFile(file, snapshot));
    this.versions.set(snapshot, { ...before, snapshot, files: [...files, ...addedFiles] });
    if (merged.length > 0) this.#rewriteHistory(ended, addedFiles, added);
  }

  /** Finds changes as the catalog does: by files, never by rows. */
  scan(from: SnapshotId, to: SnapshotId): ChangeScan {
    const [before, after] = [this.versions.get(from), this.versions.get(to)];
    assert(before !== undefined && after !== undefined, "both snapshots exist");
    const old = new Map(before.files.map((file) => [file.fileId, file]));
    const kept = new Set(after.files.map(({ fileId }) => fileId));
    const removed: ChangedFile[] = before.files.filter(({ fileId }) => !kept.has(fileId)).map(live);
    const added: ChangedFile[] = [];
    for (const file of after.files) {
      const was = old.get(file.fileId);
      if (was === undefined) {
        added.push(live(file));
        continue;
      }
      if (was.rowsUpTo !== undefined) added.push({ ...live(file), rowsAfter: from });
      const { deletes } = file;
      if (
        deletes !== undefined &&
        (deletes.fileId !== was.deletes?.fileId || deletes.upTo !== was.deletes.upTo)
      ) {
        removed.push({
          file: was,
          rowsAfter: undefined,
          rows: { kind: "deleted", deletes, before: was.deletes },
        });
      }
    }
    const sameColumns = before.table.columns === after.table.columns;
    const isAppendOnly = removed.length === 0;
    return {
      from,
      to,
      before: before.table,
      after: after.table,
      sameColumns,
      removed,
      added,
      isAppendOnly,
      removedMax: 0,
      addedMax: 0,
    };
  }

  #numbered(column: NewColumn, initialDefault: string | undefined): LakeColumn {
    const columnId = this.#nextColumnId;
    this.#nextColumnId += flattenField(fieldTree(column.name, column.type, columnId)).length;
    return { ...column, columnId, initialDefault };
  }

  #dataFile(file: NewDataFile, snapshot: SnapshotId): DataFile {
    const rowIdStart = file.rowIds === "fresh" ? this.#nextRowId : undefined;
    if (file.rowIds === "fresh") this.#nextRowId += file.recordCount;
    return {
      ...file,
      fileId: this.#newFileId(),
      beginSnapshot: file.rowSnapshots?.min ?? snapshot,
      rowIdStart,
      hasRowSnapshots: file.rowSnapshots !== undefined,
      rowsUpTo: undefined,
      deletes: undefined,
    };
  }

  #deleteFile(
    file: NewDeleteFile,
    before: DeleteFile | undefined,
    snapshot: SnapshotId,
  ): DeleteFile {
    const hasRowSnapshots = file.hasRowSnapshots === true;
    const beginSnapshot = hasRowSnapshots && before !== undefined ? before.beginSnapshot : snapshot;
    return { ...file, fileId: this.#newFileId(), beginSnapshot, hasRowSnapshots, upTo: undefined };
  }

  /** Past versions read the new file up to their own snapshot. */
  #replaceDeletes(replaced: DeleteFile | undefined, newFile: DeleteFile): void {
    for (const [snapshot, version] of this.versions) {
      const files = version.files.map((file) =>
        replaced === undefined || file.deletes?.fileId !== replaced.fileId
          ? file
          : { ...file, deletes: { ...newFile, upTo: snapshot } },
      );
      this.versions.set(snapshot, { ...version, files });
    }
  }

  /** Merged files replace their sources at every snapshot. */
  #rewriteHistory(
    ended: readonly FileId[],
    files: readonly DataFile[],
    added: readonly NewDataFile[],
  ): void {
    for (const [snapshot, version] of this.versions) {
      if (snapshot === this.versions.size) continue;
      const kept = version.files.filter(({ fileId }) => !ended.includes(fileId));
      const visible = files
        .map((file, at) => ({
          ...file,
          rowsUpTo: snapshot < (added[at]?.rowSnapshots?.max ?? 0) ? snapshot : undefined,
        }))
        .filter(({ beginSnapshot }) => beginSnapshot <= snapshot);
      this.versions.set(snapshot, { ...version, files: [...kept, ...visible] });
    }
  }

  #newFileId(): FileId {
    this.#nextFileId += 1;
    return (this.#nextFileId + 100) as FileId;
  }
}

function live(file: DataFile): ChangedFile {
  return { file, rowsAfter: undefined, rows: { kind: "live" } };
}
