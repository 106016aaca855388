/**
 * Snapshots that the lake must not expire yet: for each dynamic table and each of its sources, the
 * snapshot that its contents were made of, and those of its targets. Each is pinned in the
 * transaction that makes it needed. A pin keeps its own snapshot and no newer one (TS16).
 */
import { sql } from "kysely";
import type { SnapshotId, TableId } from "../../../data/lake/core/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { Tx } from "../../../ground/store/index.ts";

export interface NeededSnapshot {
  /** Names the reader, the source and the snapshot. */
  readonly cursor: string;
  readonly tableId: TableId;
  readonly snapshot: SnapshotId;
}

/** Usually the lake's `LakeStore`. */
export interface SnapshotPins {
  /** Throws `not_found` when the snapshot has expired. */
  pinIn(tx: Tx, cursor: string, tableId: TableId, snapshot: SnapshotId): Promise<void>;
  unpinIn(tx: Tx, cursor: string): Promise<void>;
}

/** Pins for the given tables and their readers, whose needs also change when a table moves on. */
export async function pinNeeded(
  tx: Tx,
  pins: SnapshotPins | undefined,
  tableIds: readonly number[],
): Promise<void> {
  if (pins === undefined || tableIds.length === 0) return;
  const readers = await tx.db
    .selectFrom("dynamic_table_sources")
    .select("table_id")
    .where("source_table_id", "in", tableIds)
    .execute();
  const moved = [...new Set([...tableIds, ...readers.map(({ table_id }) => table_id)])];
  const needed = await readNeededSnapshots(tx, moved);
  const pinned = new Set(await readPinned(tx, moved));
  for (const { cursor, tableId, snapshot } of needed) {
    if (pinned.delete(cursor)) continue;
    try {
      await pins.pinIn(tx, cursor, tableId, snapshot);
    } catch (error) {
      // The snapshot has expired. The next refresh notices that and reads its source whole.
      if (!(error instanceof OperatingError) || error.code !== "not_found") throw error;
    }
  }
  for (const cursor of pinned) await pins.unpinIn(tx, cursor);
}

async function readPinned({ db }: Tx, readers: readonly number[]): Promise<readonly string[]> {
  const rows = await db
    .selectFrom("lake_pins")
    .select("cursor_name")
    .where(({ eb, or }) =>
      or(readers.map((reader) => eb("cursor_name", "like", `${prefixOf(reader)}%`))),
    )
    .orderBy("cursor_name")
    .execute();
  return rows.map(({ cursor_name }) => cursor_name);
}

/** Removes the pins of a table's sources. */
export async function unpinSources(
  tx: Tx,
  pins: SnapshotPins | undefined,
  tableId: number,
): Promise<void> {
  if (pins === undefined) return;
  for (const cursor of await readPinned(tx, [tableId])) await pins.unpinIn(tx, cursor);
}

/** For all tables, or for the given ones. */
export async function readNeededSnapshots(
  { db }: Tx,
  readers?: readonly number[],
): Promise<readonly NeededSnapshot[]> {
  const isAsked = readers === undefined ? sql`1 = 1` : sql`n.reader IN (${sql.join(readers)})`;
  const found = await sql<{ reader: number; source: number; snapshot: number }>`
    SELECT DISTINCT n.reader, n.source, n.snapshot
      FROM (SELECT table_id AS reader, source_table_id AS source, cursor_snapshot AS snapshot
              FROM dynamic_table_sources
            UNION ALL
            SELECT s.table_id, s.source_table_id,
                   CASE WHEN d.table_id IS NULL THEN p.target_snapshot ELSE v.snapshot END
              FROM dynamic_table_sources s
              JOIN (SELECT table_id, target_snapshot FROM pending_refreshes
                    UNION ALL
                    SELECT table_id, target_snapshot FROM queued_refreshes) p ON p.table_id = s.table_id
              LEFT JOIN dynamic_tables d ON d.table_id = s.source_table_id
              LEFT JOIN dynamic_table_versions v
                     ON v.table_id = s.source_table_id AND v.data_snapshot = p.target_snapshot) n
     WHERE n.snapshot IS NOT NULL AND ${isAsked}
     ORDER BY n.reader, n.source, n.snapshot`.execute(db);
  return found.rows.map(({ reader, source, snapshot }) => ({
    cursor: `${prefixOf(reader)}${source}/${snapshot}`,
    tableId: source as TableId,
    snapshot: snapshot as SnapshotId,
  }));
}

function prefixOf(reader: number): string {
  return `dynamic-table/${reader}/`;
}
