/**
 * A lake whose files are lists in memory, over the real catalog, beside a plain model of every
 * snapshot. A row is a value under a row id. It writes as a writer would, and reads files as
 * `DataFile` and `ChangeScan` say.
 */
import assert from "node:assert/strict";
import type { LakeCatalog } from "../core/catalog.ts";
import type { ChangedFile } from "../core/change-feed.ts";
import type { FileFacts, NumberFacts } from "../core/check-file-facts.ts";
import type { ColumnStatistics, Commit, NewDataFile, NewDeleteFile } from "../core/commit.ts";
import type {
  DataFile,
  DeleteFile,
  FileId,
  LakeTable,
  SnapshotId,
  TableId,
  TableVersion,
} from "../core/model.ts";

export type Value = number | null;
export type Rows = ReadonlyMap<number, Value>;

interface StoredFile {
  readonly rowIds: readonly number[] | undefined;
  readonly values: readonly Value[];
  readonly snapshots: readonly number[] | undefined;
  readonly columns: readonly ColumnStatistics[];
}

interface StoredDeletes {
  readonly dataPath: string;
  readonly positions: readonly {
    readonly position: number;
    readonly snapshot: number | undefined;
  }[];
}

/** A row and its position. */
export interface PlacedRow {
  readonly rowId: number;
  readonly value: Value;
  readonly snapshot: number;
  readonly file: DataFile;
  readonly position: number;
}

export const sizeBytes = 100;
const footerSize = 10;

export class ModelLake {
  readonly catalog: LakeCatalog;
  readonly files = new Map<string, StoredFile>();
  readonly deleteFiles = new Map<string, StoredDeletes>();
  /** The expected rows by snapshot, then by table. */
  readonly expected = new Map<number, ReadonlyMap<number, Rows>>();
  #names = 0;

  constructor(catalog: LakeCatalog) {
    this.catalog = catalog;
    this.expected.set(0, new Map());
  }

  newName(): string {
    this.#names += 1;
    return `f${this.#names}`;
  }

  async commit(changes: Commit["changes"], more: Partial<Commit> = {}) {
    const readSnapshot = more.readSnapshot ?? (await this.catalog.current()).snapshot;
    const token = `token-${this.newName()}`;
    return await this.catalog.commit({
      readSnapshot,
      token,
      changes,
      author: "",
      message: "",
      ...more,
    });
  }

  /** Sets the expected rows of a snapshot: its predecessor's, except for one table. */
  expect(snapshot: SnapshotId, tableId: TableId, rows: Rows | undefined): void {
    const newest = Math.max(...[...this.expected.keys()].filter((known) => known <= snapshot));
    const tables = new Map(this.expected.get(newest));
    if (rows === undefined) tables.delete(tableId);
    else tables.set(tableId, rows);
    this.expected.set(snapshot, tables);
  }

  writeFile(
    table: Pick<LakeTable, "path" | "columns">,
    values: readonly Value[],
    rowIds?: readonly number[],
    snapshots?: readonly number[],
  ): NewDataFile {
    const path = `${table.path}${this.newName()}.parquet`;
    const columns = table.columns.map((column, index) =>
      statisticsOf(column.columnId, index === 0 ? values : values.map(() => null)),
    );
    this.files.set(path, { rowIds, values, snapshots, columns });
    return {
      path,
      recordCount: values.length,
      sizeBytes,
      footerSize,
      columns,
      rowIds: rowIds === undefined ? "fresh" : "inFile",
      ...(snapshots === undefined
        ? {}
        : {
            rowSnapshots: {
              min: Math.min(...snapshots) as SnapshotId,
              max: Math.max(...snapshots) as SnapshotId,
            },
          }),
    };
  }

  /** Writes delete files and ends files without remaining rows. `as` is the commit's snapshot. */
  writeDeletes(
    version: TableVersion,
    gone: readonly PlacedRow[],
    as: SnapshotId | undefined,
  ): { readonly deletes: NewDeleteFile[]; readonly ended: FileId[] } {
    const deletes: NewDeleteFile[] = [];
    const ended: FileId[] = [];
    for (const file of version.files) {
      const own = gone.filter((row) => row.file.fileId === file.fileId);
      if (own.length === 0) continue;
      const before = this.positions(file.deletes);
      if (own.length + before.size === file.recordCount) {
        ended.push(file.fileId);
        continue;
      }
      const hasRowSnapshots = file.deletes !== undefined && as !== undefined;
      const positions = [
        ...[...before].map(([position, snapshot]) => ({ position, snapshot })),
        ...own.map(({ position }) => ({ position, snapshot: as as number })),
      ].sort((a, b) => a.position - b.position);
      const path = `${version.table.path}${this.newName()}-delete.parquet`;
      this.deleteFiles.set(path, {
        dataPath: file.path,
        positions: hasRowSnapshots
          ? positions
          : positions.map(({ position }) => ({ position, snapshot: undefined })),
      });
      deletes.push({
        dataFileId: file.fileId,
        path,
        deleteCount: positions.length,
        sizeBytes,
        footerSize,
        hasRowSnapshots,
      });
    }
    return { deletes, ended };
  }

  /** The snapshot that deleted each position. */
  positions(deletes: DeleteFile | undefined): ReadonlyMap<number, number> {
    if (deletes === undefined) return new Map();
    const stored = this.deleteFiles.get(deletes.path);
    assert(stored !== undefined, `delete file ${deletes.path} is there`);
    const found = new Map<number, number>();
    for (const { position, snapshot } of stored.positions) {
      assert.equal(snapshot !== undefined, deletes.hasRowSnapshots);
      const deletedAt = snapshot ?? deletes.beginSnapshot;
      if (deletes.upTo === undefined || deletedAt <= deletes.upTo) found.set(position, deletedAt);
    }
    return found;
  }

  read(version: TableVersion): readonly PlacedRow[] {
    return version.files.flatMap((file) => {
      const gone = this.positions(file.deletes);
      return this.#rowsOf(file).filter(({ position }) => !gone.has(position));
    });
  }

  /** Rows that a change names, as (row id, value). */
  readChanged({ file, rowsAfter, rows }: ChangedFile): readonly PlacedRow[] {
    const own = this.#rowsOf(file).filter(
      ({ snapshot }) => rowsAfter === undefined || snapshot > rowsAfter,
    );
    if (rows.kind === "live") {
      const gone = this.positions(file.deletes);
      return own.filter(({ position }) => !gone.has(position));
    }
    const [deletes, before] = [this.positions(rows.deletes), this.positions(rows.before)];
    return own.filter(({ position }) => deletes.has(position) && !before.has(position));
  }

  #rowsOf(file: DataFile): readonly PlacedRow[] {
    const stored = this.files.get(file.path);
    assert(stored !== undefined, `data file ${file.path} is there`);
    assert.equal(stored.values.length, file.recordCount);
    assert.equal(stored.snapshots !== undefined, file.hasRowSnapshots);
    return stored.values
      .map((value, position) => {
        const rowId =
          file.rowIdStart === undefined ? stored.rowIds?.[position] : file.rowIdStart + position;
        assert(rowId !== undefined, "every row has an id");
        const snapshot = stored.snapshots?.[position] ?? file.beginSnapshot;
        return { rowId, value, snapshot, file, position };
      })
      .filter(({ snapshot }) => file.rowsUpTo === undefined || snapshot <= file.rowsUpTo);
  }

  /** The facts that reading every file would give. */
  facts(): ReadonlyMap<string, FileFacts> {
    const data = [...this.files].map(([path, file]): [string, FileFacts] => [
      path,
      {
        kind: "data",
        sizeBytes,
        footerSize,
        recordCount: file.values.length,
        columns: file.columns,
        rowIds: numbersOf(file.rowIds),
        rowSnapshots: numbersOf(file.snapshots),
      },
    ]);
    const deletes = [...this.deleteFiles].map(([path, file]): [string, FileFacts] => {
      const positions = file.positions.map(({ position }) => position);
      return [
        path,
        {
          kind: "delete",
          sizeBytes,
          footerSize,
          recordCount: positions.length,
          positionMin: Math.min(...positions),
          positionMax: Math.max(...positions),
          isIncreasing: positions.every((position, at) => position > (positions[at - 1] ?? -1)),
          dataPaths: [file.dataPath],
          rowSnapshots: numbersOf(
            file.positions.flatMap(({ snapshot }) => (snapshot === undefined ? [] : [snapshot])),
          ),
        },
      ];
    });
    return new Map([...data, ...deletes]);
  }
}

function numbersOf(values: readonly number[] | undefined): NumberFacts | undefined {
  if (values === undefined || values.length === 0) return undefined;
  return {
    count: values.length,
    distinctCount: new Set(values).size,
    min: Math.min(...values),
    max: Math.max(...values),
  };
}

export function rowsOf(placed: readonly PlacedRow[]): Rows {
  const rows = new Map(placed.map(({ rowId, value }) => [rowId, value]));
  assert.equal(rows.size, placed.length, "no row is there twice");
  return rows;
}

export function statisticsOf(columnId: number, values: readonly Value[]): ColumnStatistics {
  const present = values.filter((value) => value !== null);
  return {
    columnId,
    sizeBytes: 8 * values.length,
    valueCount: present.length,
    nullCount: values.length - present.length,
    min: present.length === 0 ? undefined : `${Math.min(...present)}`,
    max: present.length === 0 ? undefined : `${Math.max(...present)}`,
    containsNan: undefined,
  };
}
