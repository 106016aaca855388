/**
 * The parts of a lake that scheduling and claims use: a snapshot counter in the store, and when
 * each table changed. Contents are texts that show which versions a table was made of.
 */
import { sql } from "kysely";
import type { SnapshotId, TableId } from "../../../../data/lake/core/index.ts";
import type { Store, Tx } from "../../../../ground/store/index.ts";
import type { ClaimedRefresh, RefreshedData } from "../../core/index.ts";
import type { SourceChanges } from "../source-changes.ts";

export class TestLake implements SourceChanges {
  readonly #store: Store;
  /**
   * Each table's contents, by the first snapshot that has them. Shared by all users of the lake.
   */
  readonly #versions = new Map<
    TableId,
    { readonly from: SnapshotId; readonly content: string }[]
  >();

  constructor(store: Store) {
    this.#store = store;
  }

  async current(): Promise<{ readonly snapshot: SnapshotId }> {
    return await this.#store.read(async (tx) => ({ snapshot: await readCounter(tx) }));
  }

  async mayHaveChanged(
    ranges: readonly { readonly tableId: TableId; readonly from: SnapshotId }[],
    to: SnapshotId,
  ): Promise<readonly boolean[]> {
    return ranges.map(({ tableId, from }) =>
      (this.#versions.get(tableId) ?? []).some(
        (version) => version.from > from && version.from <= to,
      ),
    );
  }

  async hasChanged(...asked: Parameters<SourceChanges["hasChanged"]>): Promise<readonly boolean[]> {
    return await this.mayHaveChanged(...asked);
  }

  /** Missing files that exist again. */
  readonly found = new Set<string>();

  async isThere(path: string): Promise<boolean> {
    return this.found.has(path);
  }

  /** Changes a plain table. */
  async write(tableId: TableId): Promise<SnapshotId> {
    const snapshot = await this.#store.transaction(nextSnapshot);
    this.#put(tableId, snapshot, `${tableId}.${snapshot}`);
    return snapshot;
  }

  /** The contents that a claimed table should have. */
  contentFor({ sources }: ClaimedRefresh): string {
    return `(${sources.map(({ tableId, to }) => this.at(tableId, to)).join(" ")})`;
  }

  at(tableId: TableId, snapshot: SnapshotId): string {
    const versions = this.#versions.get(tableId) ?? [];
    const version = versions.findLast(({ from }) => from <= snapshot);
    return version?.content ?? `${tableId}.0`;
  }

  /** A full refresh of a claimed table. */
  refreshed(claim: ClaimedRefresh): RefreshedData {
    const content = this.contentFor(claim);
    return {
      action: "FULL",
      rowsInserted: 1,
      rowsDeleted: 0,
      commit: async (tx) => {
        const snapshot = await nextSnapshot(tx);
        this.#put(claim.tableId, snapshot, content);
        return { snapshot };
      },
    };
  }

  #put(tableId: TableId, from: SnapshotId, content: string): void {
    const versions = this.#versions.get(tableId) ?? [];
    // A transaction that was rolled back and run again gets the same snapshot, or a later one.
    const kept = versions.filter((version) => version.from < from);
    this.#versions.set(tableId, [...kept, { from, content }]);
  }
}

/** A row that nothing else uses. */
const task = "test-lake";

async function readCounter({ db }: Tx): Promise<SnapshotId> {
  const found = await sql<{ fence: number }>`
    SELECT fence FROM maintenance_claims WHERE task = ${task}`.execute(db);
  return (found.rows[0]?.fence ?? 1) as SnapshotId;
}

async function nextSnapshot({ db }: Tx): Promise<SnapshotId> {
  const moved = await sql<{ fence: number }>`
    INSERT INTO maintenance_claims (task, holder, fence, expires_at_ms)
    VALUES (${task}, 'test', 2, 0)
        ON CONFLICT (task) DO UPDATE SET fence = maintenance_claims.fence + 1
    RETURNING fence`.execute(db);
  return moved.rows[0]?.fence as SnapshotId;
}
