/** The lake's catalog, as everyone else uses it. `src/data/lake/store` implements it on the control store. */
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
  /** All in one read, hence of one snapshot where the moment is current. `not_found` names the table and what is like it. */
  resolve(refs: readonly TableRef[]): Promise<readonly TableVersion[]>;
  /** One version of a table that is known by id; `not_found` when it was dropped or is not there at the snapshot. */
  version(tableId: TableId, snapshot: SnapshotId): Promise<TableVersion>;
  tables(snapshot?: SnapshotId): Promise<readonly LakeTable[]>;
  snapshots(limit: number, before?: SnapshotId): Promise<readonly SnapshotInfo[]>;
  commit(commit: Commit): Promise<Committed>;
  /** The same within a transaction of the caller's: what is committed together with it is so, or is not. */
  commitIn(tx: Tx, commit: Commit): Promise<Committed>;
  /** What changed after `from`, up to and including `to`; `gone`: `from` has expired, only a full read helps. */
  changes(tableId: TableId, from: SnapshotId, to: SnapshotId): Promise<ChangeScan | "gone">;
  /** A cursor pins what it needs against expiry, up to a limit of age. */
  pin(cursor: string, tableId: TableId, snapshot: SnapshotId): Promise<void>;
  pinIn(tx: Tx, cursor: string, tableId: TableId, snapshot: SnapshotId): Promise<void>;
  unpin(cursor: string): Promise<void>;
  unpinIn(tx: Tx, cursor: string): Promise<void>;
  /** Files with this token in their path are being written, for at most so long: until then they are no orphans. */
  announce(token: string, forMs: number): Promise<void>;
}
