/**
 * The lake's catalog on the control store: DuckLake 1.0's `ducklake_*` tables, and our own for
 * tokens and pins. Commits of all processes take turns (LK9). A read is one transaction, and so
 * sees one state of the catalog.
 */
import { sql } from "kysely";
import type { Prng } from "../../../ground/kernel/prng.ts";
import type { Store, Tx } from "../../../ground/store/index.ts";
import type { LakeCatalog, TableRef } from "../core/catalog.ts";
import type { ChangeScan } from "../core/change-feed.ts";
import type { Commit, Committed } from "../core/commit.ts";
import type { LakeTable, SnapshotId, SnapshotInfo, TableId, TableVersion } from "../core/model.ts";
import { commitIn } from "./commit-in.ts";
import { pinIn } from "./pin-in.ts";
import { readChanges } from "./read-changes.ts";
import { readCurrent, readSnapshots, readTables, readVersion, resolveRefs } from "./read-tables.ts";

export interface LakeStoreOptions {
  readonly store: Store;
  /** For the UUIDs of tables. */
  readonly prng: Prng;
}

export class LakeStore implements LakeCatalog {
  readonly #store: Store;
  readonly #prng: Prng;

  constructor({ store, prng }: LakeStoreOptions) {
    this.#store = store;
    this.#prng = prng;
  }

  /** Declares where the files are, for other readers of the format, with a trailing slash. */
  async declareDataPath(path: string): Promise<void> {
    const value = path.endsWith("/") ? path : `${path}/`;
    await this.#store.catalogTransaction(async ({ db }) => {
      const known = await db
        .selectFrom("ducklake_metadata")
        .select("value")
        .where("key", "=", "data_path")
        .where("scope", "is", null)
        .executeTakeFirst();
      if (known?.value === value) return;
      await db.deleteFrom("ducklake_metadata").where("key", "=", "data_path").execute();
      await db
        .insertInto("ducklake_metadata")
        .values({ key: "data_path", value, scope: null, scope_id: null })
        .execute();
    });
  }

  current(): Promise<SnapshotInfo> {
    return this.#store.read(readCurrent);
  }

  resolve(refs: readonly TableRef[]): Promise<readonly TableVersion[]> {
    return this.#store.read((tx) => resolveRefs(tx, refs));
  }

  version(tableId: TableId, snapshot: SnapshotId): Promise<TableVersion> {
    return this.#store.read((tx) => readVersion(tx, tableId, snapshot));
  }

  tables(snapshot?: SnapshotId): Promise<readonly LakeTable[]> {
    return this.#store.read((tx) => readTables(tx, snapshot));
  }

  snapshots(limit: number, before?: SnapshotId): Promise<readonly SnapshotInfo[]> {
    return this.#store.read((tx) => readSnapshots(tx, limit, before));
  }

  /** Takes the catalog's lock, which both databases have. */
  commit(commit: Commit): Promise<Committed> {
    return this.#store.catalogTransaction((tx) => this.commitIn(tx, commit));
  }

  commitIn(tx: Tx, commit: Commit): Promise<Committed> {
    return commitIn(tx, commit, this.#prng);
  }

  changes(tableId: TableId, from: SnapshotId, to: SnapshotId): Promise<ChangeScan | "gone"> {
    return this.#store.read((tx) => readChanges(tx, tableId, from, to));
  }

  pin(cursor: string, tableId: TableId, snapshot: SnapshotId): Promise<void> {
    return this.#store.catalogTransaction((tx) => this.pinIn(tx, cursor, tableId, snapshot));
  }

  async pinIn(tx: Tx, cursor: string, tableId: TableId, snapshot: SnapshotId): Promise<void> {
    await pinIn(tx, cursor, tableId, snapshot);
  }

  unpin(cursor: string): Promise<void> {
    return this.#store.catalogTransaction((tx) => this.unpinIn(tx, cursor));
  }

  async unpinIn({ db }: Tx, cursor: string): Promise<void> {
    await db.deleteFrom("lake_pins").where("cursor_name", "=", cursor).execute();
  }

  async announce(token: string, forMs: number): Promise<void> {
    const expires = { expires_at_ms: sql<number>`now_ms() + ${forMs}` };
    await this.#store.catalogTransaction(async ({ db }) => {
      await db
        .insertInto("lake_commit_tokens")
        .values({ token, snapshot_id: null, result_json: null, ...expires })
        .onConflict((conflict) =>
          // A token of a finished commit stays finished.
          conflict
            .column("token")
            .doUpdateSet(expires)
            .where("lake_commit_tokens.snapshot_id", "is", null),
        )
        .execute();
    });
  }
}
