/** The port of the lake's catalog. `src/data/lake/store` implements it on the control store. */
import type { Tx } from "../../../ground/store/core/index.ts";
import type { TableMoment } from "../../sql/core/index.ts";
import type { ChangeScan } from "./change-feed.ts";
import type { Commit, Committed } from "./commit.ts";
import type { LakeTable, SnapshotId, SnapshotInfo, TableId, TableVersion } from "./model.ts";

export interface TableRef {
  readonly schema: string | undefined;
  readonly name: string;
  readonly moment: TableMoment;
}

export interface LakeCatalog {
  current(): Promise<SnapshotInfo>;
  /** One read, so current tables are of one snapshot. `not_found` names similar tables. */
  resolve(refs: readonly TableRef[]): Promise<readonly TableVersion[]>;
  /** Throws `not_found` when the table was dropped or does not exist at the snapshot. */
  version(tableId: TableId, snapshot: SnapshotId): Promise<TableVersion>;
  tables(snapshot?: SnapshotId): Promise<readonly LakeTable[]>;
  snapshots(limit: number, before?: SnapshotId): Promise<readonly SnapshotInfo[]>;
  commit(commit: Commit): Promise<Committed>;
  /** Commits within the caller's transaction, together with the caller's own writes. */
  commitIn(tx: Tx, commit: Commit): Promise<Committed>;
  /** Changes after `from`, up to and including `to`; `gone` when `from` has expired. */
  changes(tableId: TableId, from: SnapshotId, to: SnapshotId): Promise<ChangeScan | "gone">;
  /** Protects a snapshot from expiry for a cursor, up to an age limit. */
  pin(cursor: string, tableId: TableId, snapshot: SnapshotId): Promise<void>;
  pinIn(tx: Tx, cursor: string, tableId: TableId, snapshot: SnapshotId): Promise<void>;
  unpin(cursor: string): Promise<void>;
  unpinIn(tx: Tx, cursor: string): Promise<void>;
  /** For `forMs`, files with this token in their path are not deleted as orphans. */
  announce(token: string, forMs: number): Promise<void>;
}
