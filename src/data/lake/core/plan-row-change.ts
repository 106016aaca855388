/**
 * Plans changes of rows: files added, ended and deleted from; and compaction, which changes nothing
 * for readers.
 *
 * `ducklake_table_stats.record_count` includes deleted rows of current files: deletes do not lower
 * it, ended files do. While it equals the rows, bounds of columns are exact or unknown.
 */
import { assert } from "../../../ground/kernel/errors.ts";
import type { ColumnStatistics, NewDataFile, NewDeleteFile, TableChange } from "./commit.ts";
import { type CommitPlanner, conflict } from "./commit-planner.ts";
import { isLakePath } from "./lake-paths.ts";
import { type DataFileRow, type DeleteFileRow, joinPath, writtenAt } from "./rows.ts";
import { type FileSummary, summarize } from "./statistics.ts";
import type { WorkingTable } from "./working-table.ts";

type RowChange = Extract<TableChange, { readonly kind: "changeRows" }>;

export function planRowChange(planner: CommitPlanner, change: RowChange): void {
  const { added, deletes, ended } = change;
  if (added.length + deletes.length + ended.length === 0) return;
  const table = planner.table(change.tableId);
  if (change.isCompaction) compact(planner, table, change);
  else changeRows(planner, table, change);
}

function changeRows(planner: CommitPlanner, table: WorkingTable, change: RowChange): void {
  const { added, deletes, ended } = change;
  if (table.changedColumnsSince(planner.readSnapshot)) {
    throw conflict(`columns of table ${table.name} were changed meanwhile`);
  }
  for (const file of deletes) deleteFrom(planner, table, file);
  const endedFiles = ended.map((fileId) => unchangedFile(planner, table, fileId));
  endFiles(planner, table, endedFiles);
  if (deletes.length + ended.length > 0) {
    planner.entries.push({ kind: "deleted_from_table", id: table.id });
  }
  if (added.length > 0) addFiles(planner, table, added);
}

/** A file that, with its deletes, has not changed since the author read it. */
function unchangedFile(planner: CommitPlanner, table: WorkingTable, fileId: number): DataFileRow {
  assert(!planner.touchedFiles.has(fileId), `file ${fileId} is dealt with once in a commit`);
  planner.touchedFiles.add(fileId);
  const row = planner.facts.files.get(fileId);
  if (row === undefined || row.end_snapshot !== null) {
    throw conflict(`rows of table ${table.name} were deleted, changed or moved meanwhile`);
  }
  assert(row.table_id === table.id, `file ${fileId} is one of table ${table.name}`);
  const deletes = liveDeletes(planner, fileId);
  if (deletes !== undefined && writtenAt(deletes) > planner.readSnapshot) {
    throw conflict(`rows of table ${table.name} were deleted or changed meanwhile`);
  }
  return row;
}

function liveDeletes(planner: CommitPlanner, fileId: number): DeleteFileRow | undefined {
  const rows = planner.facts.deletes.get(fileId) ?? [];
  return rows.find((row) => row.end_snapshot === null);
}

function deleteFrom(planner: CommitPlanner, table: WorkingTable, file: NewDeleteFile): void {
  const data = unchangedFile(planner, table, file.dataFileId);
  const before = liveDeletes(planner, file.dataFileId);
  const isGrowing = file.deleteCount > (before?.delete_count ?? 0);
  assert(isGrowing && file.deleteCount <= data.record_count, `${file.path} has all deletes`);
  const hasRowSnapshots = file.hasRowSnapshots === true;
  if (before !== undefined && hasRowSnapshots) {
    planner.rows.removedDeletes.push(before.delete_file_id);
    schedule(planner, table, before.delete_file_id, before);
  } else if (before !== undefined) planner.rows.endedDeletes.push(before.delete_file_id);
  const fileId = planner.takeFileId();
  planner.keepChecksum(fileId, file.crc32);
  planner.rows.deleteFiles.push({
    delete_file_id: fileId,
    table_id: table.id,
    begin_snapshot:
      before !== undefined && hasRowSnapshots ? before.begin_snapshot : planner.snapshot,
    end_snapshot: null,
    data_file_id: file.dataFileId,
    path: relativePath(table, file.path),
    path_is_relative: 1,
    format: "parquet",
    delete_count: file.deleteCount,
    file_size_bytes: file.sizeBytes,
    footer_size: file.footerSize,
    encryption_key: null,
    partial_max: hasRowSnapshots ? planner.snapshot : null,
  });
}

function endFiles(
  planner: CommitPlanner,
  table: WorkingTable,
  files: readonly DataFileRow[],
): void {
  if (files.length === 0) return;
  endWithDeletes(planner, files);
  lowerStats(table, files);
  if (files.length === table.facts.liveFileCount) table.clearColumnStats();
  else table.forgetBounds();
}

/** Ends files with their delete files, which would else count against the remaining rows. */
function endWithDeletes(planner: CommitPlanner, files: readonly DataFileRow[]): void {
  for (const { data_file_id: fileId } of files) {
    planner.rows.endedFiles.push(fileId);
    const deletes = liveDeletes(planner, fileId);
    if (deletes !== undefined) planner.rows.endedDeletes.push(deletes.delete_file_id);
  }
}

function lowerStats(table: WorkingTable, files: readonly DataFileRow[]): void {
  const { stats } = table;
  table.setStats({
    ...stats,
    record_count: Math.max(0, stats.record_count - sum(files.map((row) => row.record_count))),
    file_size_bytes: Math.max(
      0,
      stats.file_size_bytes - sum(files.map((row) => row.file_size_bytes)),
    ),
  });
}

export function addFiles(
  planner: CommitPlanner,
  table: WorkingTable,
  files: readonly NewDataFile[],
): void {
  planner.entries.push({ kind: "inserted_into_table", id: table.id });
  for (const file of files) {
    assert(file.rowSnapshots === undefined, "only compaction puts several snapshots together");
    const { stats } = table;
    const isFirst = stats.record_count === 0;
    const isFresh = file.rowIds === "fresh";
    insertFile(planner, table, file, {
      begin_snapshot: planner.snapshot,
      row_id_start: isFresh ? stats.next_row_id : null,
      partial_max: null,
    });
    mergeStats(table, file, isFirst);
    table.setStats({
      ...stats,
      record_count: stats.record_count + file.recordCount,
      next_row_id: stats.next_row_id + (isFresh ? file.recordCount : 0),
      file_size_bytes: stats.file_size_bytes + file.sizeBytes,
    });
  }
}

function mergeStats(table: WorkingTable, file: NewDataFile, isFirst: boolean): void {
  const byColumn = new Map(file.columns.map((column) => [column.columnId, column]));
  for (const column of table.liveColumns()) {
    const statistics = byColumn.get(column.column_id);
    const summary = statistics === undefined ? unknown : summaryOf(statistics);
    // Nested parents have no values of their own, and so no statistics.
    if (statistics === undefined && isFirst) continue;
    table.mergeColumnStats(column.column_id, column.column_type, summary, isFirst);
  }
}

const unknown: FileSummary = {
  containsNull: true,
  containsNan: true,
  min: undefined,
  max: undefined,
  hasValues: true,
};

function summaryOf(column: ColumnStatistics): FileSummary {
  return {
    containsNull: column.nullCount > 0,
    containsNan: column.containsNan,
    min: column.min,
    max: column.max,
    hasValues: column.valueCount > 0,
  };
}

type Placement = Pick<DataFileRow, "begin_snapshot" | "row_id_start" | "partial_max">;

function insertFile(
  planner: CommitPlanner,
  table: WorkingTable,
  file: NewDataFile,
  placement: Placement,
): void {
  assert(file.recordCount > 0, `${file.path} has rows: empty files are not part of a table`);
  const fileId = planner.takeFileId();
  planner.keepChecksum(fileId, file.crc32);
  planner.rows.dataFiles.push({
    data_file_id: fileId,
    table_id: table.id,
    ...placement,
    end_snapshot: null,
    file_order: null,
    path: relativePath(table, file.path),
    path_is_relative: 1,
    file_format: "parquet",
    record_count: file.recordCount,
    file_size_bytes: file.sizeBytes,
    footer_size: file.footerSize,
    partition_id: null,
    encryption_key: null,
    mapping_id: null,
  });
  for (const column of file.columns) {
    planner.rows.fileStats.push({
      data_file_id: fileId,
      table_id: table.id,
      column_id: column.columnId,
      column_size_bytes: column.sizeBytes,
      value_count: column.valueCount,
      null_count: column.nullCount,
      min_value: column.min ?? null,
      max_value: column.max ?? null,
      contains_nan: column.containsNan === undefined ? null : Number(column.containsNan),
      extra_stats: null,
    });
  }
}

function compact(planner: CommitPlanner, table: WorkingTable, change: RowChange): void {
  assert(change.deletes.length === 0 && change.ended.length > 0, "compaction replaces whole files");
  assert(planner.entries.every(isCompactionEntry), "compaction is alone in its commit");
  const sources = change.ended.map((fileId) => unchangedFile(planner, table, fileId));
  const merges = isMerge(change);
  planner.entries.push({ kind: merges ? "merge_adjacent" : "rewrite_delete", id: table.id });
  if (!merges && table.changedColumnsSince(planner.readSnapshot)) {
    throw conflict(`columns of table ${table.name} were changed meanwhile`);
  }
  if (merges) merge(planner, table, change.added, sources);
  else rewrite(planner, table, change.added, sources);
}

/** Whether a compaction's files replace the old ones at past snapshots too. */
export function isMerge({ added }: Pick<RowChange, "added">): boolean {
  return added.some((file) => file.rowSnapshots !== undefined);
}

function isCompactionEntry({ kind }: { readonly kind: string }): boolean {
  return kind === "merge_adjacent" || kind === "rewrite_delete";
}

/** Replaces sources without deletes at every snapshot, and schedules their deletion. */
function merge(
  planner: CommitPlanner,
  table: WorkingTable,
  added: readonly NewDataFile[],
  sources: readonly DataFileRow[],
): void {
  const begin = Math.min(...sources.map((row) => row.begin_snapshot));
  const newest = Math.max(...sources.map((row) => row.partial_max ?? row.begin_snapshot));
  const isComplete =
    sum(added.map((file) => file.recordCount)) === sum(sources.map((row) => row.record_count));
  assert(isComplete, `merged files of table ${table.name} have all rows of what they replace`);
  for (const row of sources) {
    const hasDeletes = (planner.facts.deletes.get(row.data_file_id) ?? []).length > 0;
    if (hasDeletes) throw conflict(`rows of table ${table.name} were deleted meanwhile`);
    planner.rows.removedFiles.push(row.data_file_id);
    schedule(planner, table, row.data_file_id, row);
  }
  for (const file of added) {
    const { min, max } = file.rowSnapshots ?? { min: 0, max: Infinity };
    const isTrue = min >= begin && max <= newest && min <= max;
    assert(isTrue, `${file.path} has rows of the snapshots ${begin} to ${newest}`);
    assert(file.rowIds === "inFile", "merged rows keep their ids");
    const placement = { begin_snapshot: min, row_id_start: null, partial_max: max };
    insertFile(planner, table, file, placement);
  }
  const { stats } = table;
  const grown =
    sum(added.map((file) => file.sizeBytes)) - sum(sources.map((row) => row.file_size_bytes));
  table.setStats({ ...stats, file_size_bytes: Math.max(0, stats.file_size_bytes + grown) });
}

/** Ends the sources, which earlier snapshots need, and adds files without deleted rows. */
function rewrite(
  planner: CommitPlanner,
  table: WorkingTable,
  added: readonly NewDataFile[],
  sources: readonly DataFileRow[],
): void {
  const live = sources.map(
    (row) => row.record_count - (liveDeletes(planner, row.data_file_id)?.delete_count ?? 0),
  );
  const isComplete = sum(added.map((file) => file.recordCount)) === sum(live);
  assert(isComplete, `rewritten files of table ${table.name} have all rows that were there`);
  endWithDeletes(planner, sources);
  lowerStats(table, sources);
  for (const file of added) {
    assert(file.rowIds === "inFile", "rewritten rows keep their ids");
    insertFile(planner, table, file, {
      begin_snapshot: planner.snapshot,
      row_id_start: null,
      partial_max: null,
    });
    const { stats } = table;
    table.setStats({
      ...stats,
      record_count: stats.record_count + file.recordCount,
      file_size_bytes: stats.file_size_bytes + file.sizeBytes,
    });
  }
  recomputeStats(table, added, sources);
}

/** From the statistics of all current files. A column that one lacks gets unknown bounds. */
function recomputeStats(
  table: WorkingTable,
  added: readonly NewDataFile[],
  sources: readonly DataFileRow[],
): void {
  const { liveFileStats } = table.facts;
  if (liveFileStats === undefined) {
    table.forgetBounds();
    return;
  }
  const gone = new Set(sources.map((row) => row.data_file_id));
  const kept = liveFileStats.filter((row) => !gone.has(row.data_file_id));
  const fileCount = table.facts.liveFileCount - sources.length + added.length;
  table.clearColumnStats();
  for (const column of table.liveColumns()) {
    const files: FileSummary[] = kept
      .filter((row) => row.column_id === column.column_id)
      .map((row) => ({
        containsNull: (row.null_count ?? 1) > 0,
        containsNan: row.contains_nan === null ? undefined : row.contains_nan !== 0,
        min: row.min_value ?? undefined,
        max: row.max_value ?? undefined,
        hasValues: (row.value_count ?? 1) > 0,
      }));
    for (const file of added) {
      const own = file.columns.find(({ columnId }) => columnId === column.column_id);
      if (own !== undefined) files.push(summaryOf(own));
    }
    if (files.length === 0) continue;
    const missing = files.length < fileCount ? [unknown] : [];
    table.putColumnStats(column.column_id, summarize(column.column_type, [...files, ...missing]));
  }
}

function schedule(
  planner: CommitPlanner,
  table: WorkingTable,
  fileId: number,
  row: { readonly path: string; readonly path_is_relative: number },
): void {
  const isRelative = row.path_is_relative;
  planner.rows.scheduled.push({
    data_file_id: fileId,
    path: joinPath({ path: table.directory, path_is_relative: 1 }, row),
    path_is_relative: isRelative,
    schedule_start: planner.timeText,
  });
}

function relativePath(table: WorkingTable, path: string): string {
  const isOwn = isLakePath(path) && path.startsWith(table.directory);
  assert(isOwn, `${path} is in the directory of its table, ${table.directory}`);
  return path.slice(table.directory.length);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
