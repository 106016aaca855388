/**
 * The rows that one step of a Lake source reads, from the least row id to the greatest: those of a
 * table's version, or those that were added between two snapshots. They are read group by group,
 * so that a table of any size needs the disk space of one.
 */
import {
  type AddedRows,
  addedRowsSql,
  type ChangedFile,
  type LakeTable,
  type RowIds,
  rowIdsOf,
  type SnapshotId,
  withFiles,
} from "../../../../data/lake/index.ts";
import { quoteName } from "../../../../data/sql/core/index.ts";
import { DialectError, type Field, type Schema } from "../../language/core/index.ts";
import { groupFiles } from "../core/group-files.ts";
import { columnsFor, readSql, rowIdField } from "../core/lake-types.ts";
import type { SpooledFile, WantedAdded } from "./fragment-lake.ts";
import { spoolRows } from "./spool-rows.ts";
import type { StreamLake } from "./stream-lake.ts";

const groupRowsMax = 250_000;

/** The groups to read: one where rows were removed, because all ids are compared then. */
export async function cutAdded(
  lake: StreamLake,
  { rows, table, snapshot, afterRowId }: WantedAdded,
  signal: AbortSignal,
): Promise<readonly AddedRows[]> {
  if (rows.added.length === 0) return [];
  if (rows.removed.length > 0) return [rows];
  const ranged = await Promise.all(
    rows.added.map(async (file) => {
      const ids = rowIdsOf(file.file) ?? (await askRowIds(lake, file, table, snapshot, signal));
      return { file, ...ids };
    }),
  );
  const left = ranged.filter(({ greatest }) => afterRowId === undefined || greatest > afterRowId);
  return groupFiles(left, groupRowsMax).map((added) => ({ ...rows, added }));
}

/** The rows of one group, in the order of their ids, which are their first column. */
export async function spoolAdded(
  lake: StreamLake,
  { rows, table, snapshot, schema, afterRowId }: WantedAdded & { readonly schema: Schema },
  signal: AbortSignal,
): Promise<SpooledFile> {
  const values = columnsFor(table, schema).map((column, at) => {
    const { name, type } = schema[at] as Field;
    if (column === undefined) throw columnGone(table.name, name);
    return `${readSql(column, type.name)} AS ${quoteName(name)}`;
  });
  return await withLocal(lake, rows, table, snapshot, signal, async (localPaths) => {
    const added = addedRowsSql(rows, { afterRowId, localPaths });
    const select = `SELECT ${["_row_id", ...values].join(", ")} FROM (${added}) ORDER BY _row_id`;
    return await spoolRows(lake, select, [rowIdField, ...schema], signal);
  });
}

/** A file that carries its rows' ids is asked for the least and the greatest one. */
async function askRowIds(
  lake: StreamLake,
  file: ChangedFile,
  table: LakeTable,
  snapshot: SnapshotId,
  signal: AbortSignal,
): Promise<RowIds> {
  const rows: AddedRows = { columns: [], added: [file], removed: [] };
  const [found] = await withLocal(lake, rows, table, snapshot, signal, (localPaths) => {
    const added = addedRowsSql(rows, { afterRowId: undefined, localPaths });
    const select = `SELECT min(_row_id), max(_row_id) FROM (${added})`;
    return lake.engine.withSession([], signal, (session) => session.run(select, signal));
  });
  const [least, greatest] = found ?? [];
  return { least: Number(least ?? 0), greatest: Number(greatest ?? -1) };
}

function withLocal<T>(
  { objects }: StreamLake,
  { added, removed }: AddedRows,
  table: LakeTable,
  snapshot: SnapshotId,
  signal: AbortSignal,
  use: (localPaths: ReadonlyMap<string, string>) => Promise<T>,
): Promise<T> {
  const scan = {
    ...{ from: snapshot, to: snapshot, before: table, after: table, sameColumns: true },
    ...{ added, removed, isAppendOnly: removed.length === 0, removedMax: 0, addedMax: 0 },
  };
  return withFiles(objects, [scan], signal, use);
}

function columnGone(table: string, name: string): DialectError {
  return new DialectError(4002, `the table ${table} has no column ${name} any more`, {
    hint: "Change the source's declaration, and start without the checkpoint.",
  });
}
