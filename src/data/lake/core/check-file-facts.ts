/** Compares the catalog with the files' contents and with the tables as readers see them. */

import { type ReferencedFile, referencedFiles } from "./check-files.ts";
import type { ColumnRow, DataFileRow, DeleteFileRow, FileStatsRow, LakeRows } from "./rows.ts";
import { compareStatistics } from "./statistics.ts";

/** The facts found by reading a file. */
export type FileFacts = DataFileFacts | DeleteFileFacts;

export interface DataFileFacts {
  readonly kind: "data";
  readonly sizeBytes: number;
  readonly footerSize: number;
  readonly recordCount: number;
  readonly columns: readonly ColumnFacts[];
  /** Undefined when the file does not carry its rows' ids. */
  readonly rowIds: NumberFacts | undefined;
  /** Undefined when the file does not carry its rows' snapshots. */
  readonly rowSnapshots: NumberFacts | undefined;
}

export interface ColumnFacts {
  readonly columnId: number;
  readonly valueCount: number;
  readonly nullCount: number;
  /** The bounds in the catalog's notation, without NaN; undefined if none or unread. */
  readonly min: string | undefined;
  readonly max: string | undefined;
  /** Undefined when the type has no NaN. */
  readonly containsNan: boolean | undefined;
}

export interface NumberFacts {
  readonly count: number;
  readonly distinctCount: number;
  readonly min: number;
  readonly max: number;
}

export interface DeleteFileFacts {
  readonly kind: "delete";
  readonly sizeBytes: number;
  readonly footerSize: number;
  readonly recordCount: number;
  /** Positions are 0-based. */
  readonly positionMin: number;
  readonly positionMax: number;
  readonly isIncreasing: boolean;
  /** The data files that the delete file names. */
  readonly dataPaths: readonly string[];
  readonly rowSnapshots: NumberFacts | undefined;
}

/** The outcome of looking for a file. */
export type FoundFile =
  | FileFacts
  | { readonly kind: "missing" }
  | { readonly kind: "unreadable"; readonly sizeBytes: number; readonly why: string };

/** The facts of a table at the newest snapshot, found by reading it. */
export interface TableFacts {
  readonly rowCount: number;
  readonly rowIdCount: number;
}

/** The figures that people are shown of a table at the newest snapshot, without reading it. */
export interface ShownFacts {
  readonly rowCount: number;
  readonly sizeBytes: number;
  readonly fileCount: number;
}

/** Files by path and tables by id. Whatever is absent is not checked. */
export interface LakeFacts {
  readonly files: ReadonlyMap<string, FoundFile>;
  readonly tables: ReadonlyMap<number, TableFacts>;
  /** Every current table by id; absent when nobody asked. */
  readonly shown?: ReadonlyMap<number, ShownFacts>;
}

export function checkFacts(rows: LakeRows, facts: LakeFacts): string[] {
  const context = indexRows(rows);
  const files = referencedFiles(rows).flatMap((file) => {
    const found = facts.files.get(file.path);
    return found === undefined ? [] : checkFound(context, file, found);
  });
  return [...files, ...checkTableFacts(rows, facts.tables), ...checkShown(rows, facts)];
}

interface Context {
  readonly data: ReadonlyMap<number, DataFileRow>;
  readonly deletes: ReadonlyMap<number, DeleteFileRow>;
  /** Paths of data files by id. */
  readonly paths: ReadonlyMap<number, string>;
  readonly stats: ReadonlyMap<number, readonly FileStatsRow[]>;
  /** Columns by table id and column id. */
  readonly columns: ReadonlyMap<string, Pick<ColumnRow, "column_name" | "column_type">>;
  readonly nextRowIds: ReadonlyMap<number, number>;
}

function indexRows(rows: LakeRows): Context {
  const data = referencedFiles(rows).filter(({ kind }) => kind === "data");
  return {
    data: new Map(rows.ducklake_data_file.map((row) => [row.data_file_id, row])),
    deletes: new Map(rows.ducklake_delete_file.map((row) => [row.delete_file_id, row])),
    paths: new Map(data.map(({ fileId, path }) => [fileId, path])),
    stats: Map.groupBy(rows.ducklake_file_column_stats, (row) => row.data_file_id),
    columns: new Map(rows.ducklake_column.map((row) => [`${row.table_id}.${row.column_id}`, row])),
    nextRowIds: new Map(rows.ducklake_table_stats.map((row) => [row.table_id, row.next_row_id])),
  };
}

function checkFound(context: Context, { kind, fileId, path }: ReferencedFile, found: FoundFile) {
  if (found.kind === "missing") return [`${path} is not there`];
  const row = kind === "data" ? context.data.get(fileId) : context.deletes.get(fileId);
  const problems = new Findings(path);
  problems.expect("size", row?.file_size_bytes, found.sizeBytes);
  if (found.kind === "unreadable") problems.add(`it cannot be read: ${found.why}`);
  else if (found.kind !== kind) problems.add(`it is not a ${kind} file`);
  else {
    problems.expect("footer_size", row?.footer_size, found.footerSize);
    if (found.kind === "data") checkData(context, fileId, found, problems);
    else checkDeletes(context, fileId, found, problems);
  }
  return problems.sentences;
}

class Findings {
  readonly sentences: string[] = [];
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  add(what: string): void {
    this.sentences.push(`${this.#path}: ${what}`);
  }

  /** Reports a difference, unless the catalog has no value. */
  expect(what: string, catalog: number | null | undefined, real: number): void {
    if (catalog === null || catalog === undefined || catalog === real) return;
    this.add(`the catalog says ${what}: ${catalog}, the file has ${real}`);
  }
}

function checkData(
  context: Context,
  fileId: number,
  found: DataFileFacts,
  problems: Findings,
): void {
  const row = context.data.get(fileId);
  if (row === undefined) return;
  problems.expect("record_count", row.record_count, found.recordCount);
  checkRowIds(context, row, found, problems);
  checkRowSnapshots(row, found, problems);
  const stats = context.stats.get(fileId) ?? [];
  for (const column of found.columns) {
    const own = stats.find((stat) => stat.column_id === column.columnId);
    const known = context.columns.get(`${row.table_id}.${column.columnId}`);
    if (own !== undefined && known !== undefined) checkColumn(own, known, column, problems);
  }
}

function checkRowIds(
  context: Context,
  row: DataFileRow,
  { rowIds, recordCount }: DataFileFacts,
  problems: Findings,
): void {
  if (rowIds === undefined) {
    if (row.row_id_start === null) problems.add("its rows have no ids");
    return;
  }
  if (rowIds.count !== recordCount || rowIds.distinctCount !== recordCount) {
    problems.add(`${recordCount} rows have ${rowIds.distinctCount} ids`);
  }
  const next = context.nextRowIds.get(row.table_id) ?? 0;
  if (rowIds.min < 0 || rowIds.max >= next) {
    problems.add(`row ids are ${rowIds.min} to ${rowIds.max}, the table's next is ${next}`);
  }
}

/** The rows of a merged file are of the snapshots `begin_snapshot` to `partial_max`. */
function checkRowSnapshots(
  row: DataFileRow,
  { rowSnapshots, recordCount }: DataFileFacts,
  problems: Findings,
): void {
  if (row.partial_max === null) return;
  if (rowSnapshots === undefined || rowSnapshots.count !== recordCount) {
    problems.add("its rows do not all say their snapshot");
  } else if (rowSnapshots.min < row.begin_snapshot || rowSnapshots.max > row.partial_max) {
    problems.add(
      `rows are of the snapshots ${rowSnapshots.min} to ${rowSnapshots.max}, the catalog says ${row.begin_snapshot} to ${row.partial_max}`,
    );
  }
}

function checkColumn(
  own: FileStatsRow,
  { column_name: name, column_type: type }: Pick<ColumnRow, "column_name" | "column_type">,
  column: ColumnFacts,
  problems: Findings,
): void {
  const of = `of column ${name}`;
  problems.expect(`value_count ${of}`, own.value_count, column.valueCount);
  problems.expect(`null_count ${of}`, own.null_count, column.nullCount);
  const sides = [
    ["min", own.min_value, column.min, -1],
    ["max", own.max_value, column.max, 1],
  ] as const;
  for (const [side, catalog, real, sign] of sides) {
    if (catalog === null || real === undefined || isBound(type, catalog, real, sign)) continue;
    problems.add(`${side} ${of} is ${catalog}, really ${real}`);
  }
  if (own.contains_nan === 0 && column.containsNan === true) {
    problems.add(`there is a NaN in column ${name}, the catalog says none`);
  }
}

/** Bounds of long texts are truncated, so they may be wider. Bounds of other types are exact. */
function isBound(type: string, catalog: string, real: string, sign: 1 | -1): boolean {
  const order = compareStatistics(type, catalog, real);
  if (order === undefined) return catalog === real;
  return /^(varchar|json|blob)$/i.test(type) ? order * sign >= 0 : order === 0;
}

function checkDeletes(
  context: Context,
  fileId: number,
  found: DeleteFileFacts,
  problems: Findings,
): void {
  const row = context.deletes.get(fileId);
  if (row === undefined) return;
  const data = context.data.get(row.data_file_id);
  const path = context.paths.get(row.data_file_id);
  problems.expect("delete_count", row.delete_count, found.recordCount);
  if (!found.isIncreasing) problems.add("positions are not in order");
  if (found.positionMin < 0) problems.add(`there is a position ${found.positionMin}`);
  if (found.positionMax >= (data?.record_count ?? 0)) {
    problems.add(`position ${found.positionMax} is beyond its data file`);
  }
  for (const other of found.dataPaths) {
    if (!isSameFile(other, path)) problems.add(`it is of ${other}, the catalog says of ${path}`);
  }
  const { rowSnapshots } = found;
  if (row.partial_max === null) return;
  if (rowSnapshots === undefined || rowSnapshots.count !== found.recordCount) {
    problems.add("its positions do not all say their snapshot");
  } else if (rowSnapshots.max > row.partial_max) {
    problems.add(
      `there are deletes of snapshot ${rowSnapshots.max}, the catalog says up to ${row.partial_max}`,
    );
  }
}

/**
 * Our delete files name their data file by its lake path; DuckLake's own extension writes the full
 * path at the time.
 */
function isSameFile(said: string, path: string | undefined): boolean {
  return path !== undefined && (said === path || said.endsWith(`/${path}`));
}

/**
 * Compares the figures shown of a table with counts from the files, not from the catalog's rows.
 */
function checkShown(rows: LakeRows, { files, shown = new Map() }: LakeFacts): string[] {
  const paths = new Map(referencedFiles(rows).map(({ fileId, path }) => [fileId, path]));
  const names = new Map(rows.ducklake_table.map((row) => [row.table_id, row.table_name]));
  const live = Map.groupBy(
    rows.ducklake_data_file.filter((row) => row.end_snapshot === null),
    (row) => row.table_id,
  );
  const deletesOf = new Map(
    rows.ducklake_delete_file
      .filter((row) => row.end_snapshot === null)
      .map((row) => [row.data_file_id, row.delete_file_id]),
  );
  const factsOf = (fileId: number): FoundFile | undefined => files.get(paths.get(fileId) ?? "");
  return [...shown].flatMap(([tableId, table]) => {
    let real: ShownFacts = { rowCount: 0, sizeBytes: 0, fileCount: 0 };
    for (const { data_file_id: fileId } of live.get(tableId) ?? []) {
      const deleteId = deletesOf.get(fileId);
      const parts = [factsOf(fileId), ...(deleteId === undefined ? [] : [factsOf(deleteId)])];
      for (const found of parts) {
        // An unreadable file is a finding of its own, and makes these sums meaningless.
        if (found?.kind !== "data" && found?.kind !== "delete") return [];
        real = {
          rowCount: real.rowCount + (found.kind === "data" ? 1 : -1) * found.recordCount,
          sizeBytes: real.sizeBytes + found.sizeBytes,
          fileCount: real.fileCount + 1,
        };
      }
    }
    const figures = [
      ["rows", table.rowCount, real.rowCount],
      ["bytes", table.sizeBytes, real.sizeBytes],
      ["files", table.fileCount, real.fileCount],
    ] as const;
    return figures.flatMap(([what, said, is]) =>
      said === is
        ? []
        : [`table ${names.get(tableId)} is shown with ${said} ${what}, really ${is}`],
    );
  });
}

function checkTableFacts(rows: LakeRows, tables: LakeFacts["tables"]): string[] {
  const counts = new Map<number, number>();
  const add = (tableId: number, count: number): void => {
    counts.set(tableId, (counts.get(tableId) ?? 0) + count);
  };
  for (const row of rows.ducklake_data_file) {
    if (row.end_snapshot === null) add(row.table_id, row.record_count);
  }
  const live = new Set(
    rows.ducklake_data_file
      .filter((row) => row.end_snapshot === null)
      .map((row) => row.data_file_id),
  );
  for (const row of rows.ducklake_delete_file) {
    if (row.end_snapshot === null && live.has(row.data_file_id)) {
      add(row.table_id, -row.delete_count);
    }
  }
  const names = new Map(rows.ducklake_table.map((row) => [row.table_id, row.table_name]));
  return [...tables].flatMap(([tableId, { rowCount, rowIdCount }]) => {
    const name = names.get(tableId);
    const expected = counts.get(tableId) ?? 0;
    return [
      ...(rowCount === expected
        ? []
        : [`table ${name} reads as ${rowCount} rows, the catalog says ${expected}`]),
      ...(rowIdCount === rowCount
        ? []
        : [`the ${rowCount} rows of table ${name} have ${rowIdCount} ids`]),
    ];
  });
}
