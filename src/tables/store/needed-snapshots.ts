/**
 * What the lake must not expire yet: for each dynamic table and each table that it reads, the oldest snapshot that the next
 * refresh reads of it. They are pinned in the transaction that makes them needed.
 */
import { sql } from "kysely";
import { OperatingError } from "../../kernel/errors.ts";
import type { SnapshotId, TableId } from "../../lake/core/index.ts";
import type { Tx } from "../../store/index.ts";

export interface NeededSnapshot {
  /** The same for the same pair, for ever: a newer pin replaces an older one. */
  readonly cursor: string;
  readonly tableId: TableId;
  readonly snapshot: SnapshotId;
}

/** The lake's, usually: `LakeStore`. */
export interface SnapshotPins {
  /** `not_found` when the snapshot has expired. */
  pinIn(tx: Tx, cursor: string, tableId: TableId, snapshot: SnapshotId): Promise<void>;
  unpinIn(tx: Tx, cursor: string): Promise<void>;
}

/** For the given tables and those that read them: both need something else once one of them has moved. */
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
  const moved = new Set([...tableIds, ...readers.map(({ table_id }) => table_id)]);
  for (const { cursor, tableId, snapshot } of await readNeededSnapshots(tx, [...moved])) {
    try {
      await pins.pinIn(tx, cursor, tableId, snapshot);
    } catch (error) {
      // Gone already: the next refresh finds that out, and reads its source whole.
      if (!(error instanceof OperatingError) || error.code !== "not_found") throw error;
    }
  }
}

/** It no longer reads what it reads. */
export async function unpinSources(
  tx: Tx,
  pins: SnapshotPins | undefined,
  tableId: number,
): Promise<void> {
  if (pins === undefined) return;
  const sources = await tx.db
    .selectFrom("dynamic_table_sources")
    .select("source_table_id")
    .where("table_id", "=", tableId)
    .execute();
  for (const { source_table_id } of sources) {
    await pins.unpinIn(tx, cursorName(tableId, source_table_id));
  }
}

/** Of all tables, or of the given ones. */
export async function readNeededSnapshots(
  { db }: Tx,
  readers?: readonly number[],
): Promise<readonly NeededSnapshot[]> {
  const isAsked = readers === undefined ? sql`1 = 1` : sql`n.reader IN (${sql.join(readers)})`;
  const found = await sql<{ reader: number; source: number; snapshot: number }>`
    SELECT n.reader, n.source, min(n.snapshot) AS snapshot
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
     GROUP BY n.reader, n.source
     ORDER BY n.reader, n.source`.execute(db);
  return found.rows.map(({ reader, source, snapshot }) => ({
    cursor: cursorName(reader, source),
    tableId: source as TableId,
    snapshot: snapshot as SnapshotId,
  }));
}

function cursorName(reader: number, source: number): string {
  return `dynamic-table/${reader}/${source}`;
}
