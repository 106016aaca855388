/**
 * The lake as fragments use it, on whatever thread they are. Store, DuckDB and object store are
 * those of the process: a fragment asks for what it wants of them, and what crosses between the
 * threads is plain data. Rows come as files of the spool, and go as files of the staging directory.
 */
import type {
  AddedRows,
  ChangeScan,
  FoundTable,
  LakeTable,
  NewColumn,
  PutFile,
  SnapshotId,
  TableId,
  TableVersion,
} from "../../../../data/lake/index.ts";
import type { Clock } from "../../../../ground/kernel/clock.ts";
import type { Prng } from "../../../../ground/kernel/prng.ts";
import type { Schema } from "../../language/core/index.ts";

export interface FragmentLake {
  readonly calls: LakeCalls;
  /** Where files are written before they are put; nothing else uses it. */
  readonly stagingDir: string;
  readonly clock: Clock;
  readonly prng: Prng;
}

export interface WantedAdded {
  readonly rows: AddedRows;
  readonly table: LakeTable;
  readonly snapshot: SnapshotId;
  /** Only rows with greater ids; `undefined` for all. */
  readonly afterRowId: number | undefined;
}

/** What a thread with fragments asks its process for. */
export interface LakeRequests {
  lakeSnapshot(none: undefined): SnapshotId;
  /** The newest version of a table. */
  lakeTable(name: string): TableVersion;
  lakeVersion(at: { readonly table: TableId; readonly snapshot: SnapshotId }): TableVersion;
  lakeChanges(range: {
    readonly table: TableId;
    readonly from: SnapshotId;
    readonly to: SnapshotId;
  }): ChangeScan | "gone";
  /** Cuts rows into groups by the ranges of their ids, to be spooled one after the other. */
  lakeCut(wanted: WantedAdded): readonly AddedRows[];
  /** Spools a group in the order of the ids, which are the first column. */
  lakeSpoolAdded(wanted: WantedAdded & { readonly schema: Schema }): SpooledFile;
  /** Spools all rows of a version. */
  lakeSpoolTable(wanted: { readonly version: TableVersion; readonly schema: Schema }): SpooledFile;
  /** The table of a sink, which is made where there is none. */
  lakeSinkTable(wanted: {
    readonly name: string;
    readonly columns: readonly NewColumn[];
  }): FoundTable;
  lakePut(file: { readonly path: string; readonly localPath: string }): PutFile;
}

/** A file that `CsvRows` reads, and whoever asked for it deletes. */
export interface SpooledFile {
  readonly path: string;
}

/** A call that is aborted rejects when nothing is under way for it any more. */
export type LakeCalls = {
  readonly [Name in keyof LakeRequests]: (
    argument: Parameters<LakeRequests[Name]>[0],
    signal?: AbortSignal,
  ) => Promise<ReturnType<LakeRequests[Name]>>;
};
