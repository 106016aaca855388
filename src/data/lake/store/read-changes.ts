/** Reads the rows from which `planChanges` computes the change of a table between two snapshots. */
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { Tx } from "../../../ground/store/index.ts";
import type { ChangeScan } from "../core/change-feed.ts";
import { parseChanges } from "../core/change-text.ts";
import type { SnapshotId, TableId } from "../core/model.ts";
import { planChanges } from "../core/plan-changes.ts";
import type { ReadDataFileRow, ReadDeleteFileRow } from "../core/rows.ts";
import { tableAt } from "../core/table-version.ts";
import {
  hasSnapshot,
  readTableRow,
  requireSnapshot,
  selectColumns,
  selectDataFiles,
  selectDeleteFiles,
} from "./read-tables.ts";
import { selectByIds } from "./statements.ts";

export async function readChanges(
  tx: Tx,
  tableId: TableId,
  from: SnapshotId,
  to: SnapshotId,
): Promise<ChangeScan | "gone"> {
  if (from > to) {
    throw new OperatingError(
      "bad_request",
      "never",
      `changes go forward: not from ${from} to ${to}`,
    );
  }
  await requireSnapshot(tx, to);
  const after = await readTableRow(tx, tableId, to);
  if (after === undefined) {
    throw new OperatingError(
      "not_found",
      "never",
      `there is no table ${tableId} at snapshot ${to}`,
    );
  }
  if (!(await hasSnapshot(tx, from))) return "gone";
  const before = await readTableRow(tx, tableId, from);
  if (before === undefined) return "gone"; // Not created yet: all is new.
  const columns = (await selectColumns(tx.db, [tableId])).get(tableId) ?? [];
  const { files, deletes } = await selectChangedFiles(tx, tableId, from, to);
  return planChanges({
    from,
    to,
    before: tableAt({ ...before, columns }, from),
    after: tableAt({ ...after, columns }, to),
    files,
    deletes,
    rewrites: await readRewrites(tx, tableId, from, to),
  });
}

/** The files that may differ, with their deletes: added, ended, or deleted from in between. */
async function selectChangedFiles(
  { db }: Tx,
  tableId: TableId,
  from: SnapshotId,
  to: SnapshotId,
): Promise<{ readonly files: ReadDataFileRow[]; readonly deletes: ReadDeleteFileRow[] }> {
  const files = await selectDataFiles(db, [tableId], from, to)
    .where((eb) =>
      eb.or([
        eb("begin_snapshot", ">", from),
        eb("end_snapshot", "is not", null),
        eb("partial_max", ">", from),
        eb(
          "data_file_id",
          "in",
          eb
            .selectFrom("ducklake_delete_file")
            .select("data_file_id")
            .where("table_id", "=", tableId)
            .where(eb.fn.coalesce("partial_max", "begin_snapshot"), ">", from),
        ),
      ]),
    )
    .execute();
  const deletes = await selectByIds(
    files.map((row) => row.data_file_id),
    (ids) => selectDeleteFiles(db).where("data_file_id", "in", ids).execute(),
  );
  return { files, deletes };
}

async function readRewrites(
  { db }: Tx,
  tableId: TableId,
  from: SnapshotId,
  to: SnapshotId,
): Promise<SnapshotId[]> {
  const rows = await db
    .selectFrom("ducklake_snapshot_changes")
    .select(["snapshot_id", "changes_made"])
    .where("snapshot_id", ">", from)
    .where("snapshot_id", "<=", to)
    .where("changes_made", "like", "%rewrite_delete:%")
    .execute();
  return rows
    .filter(({ changes_made }) =>
      parseChanges(changes_made)?.some(
        (entry) => entry.kind === "rewrite_delete" && entry.id === tableId,
      ),
    )
    .map(({ snapshot_id }) => snapshot_id as SnapshotId);
}
