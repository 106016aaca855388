/** The catalog against what is really in the lake's files, and in tables as they are read. */

import { type ReferencedFile, referencedFiles } from "./check-files.ts";
import type { ColumnRow, DataFileRow, DeleteFileRow, FileStatsRow, LakeRows } from "./rows.ts";
import { compareStatistics } from "./statistics.ts";

/** What somebody who read a file says of it. */
export type FileFacts = DataFileFacts | DeleteFileFacts;

export interface DataFileFacts {
  readonly kind: "data";
  readonly sizeBytes: number;
  readonly footerSize: number;
  readonly recordCount: number;
  readonly columns: readonly ColumnFacts[];
  /** `undefined`: the file does not say its rows' ids. */
  readonly rowIds: NumberFacts | undefined;
  /** `undefined`: the file does not say which snapshots its rows came with. */
  readonly rowSnapshots: NumberFacts | undefined;
}

export interface ColumnFacts {
  readonly columnId: number;
  readonly valueCount: number;
  readonly nullCount: number;
  /** As the catalog writes values, without NaN; `undefined`: there are none, or nobody looked. */
  readonly min: string | undefined;
  readonly max: string | undefined;
  /** `undefined`: the type has none. */
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
  /** 0-based. */
  readonly positionMin: number;
  readonly positionMax: number;
  readonly isIncreasing: boolean;
  /** Data files that it says it is of. */
  readonly dataPaths: readonly string[];
  readonly rowSnapshots: NumberFacts | undefined;
}

/** A file that was looked for. */
export type FoundFile =
  | FileFacts
  | { readonly kind: "missing" }
  | { readonly kind: "unreadable"; readonly sizeBytes: number; readonly why: string };

/** A table at the newest snapshot, as readers get it. */
export interface TableFacts {
  readonly rowCount: number;
  readonly rowIdCount: number;
}

/** What people are shown of a table at the newest snapshot, without anybody reading it. */
export interface ShownFacts {
  readonly rowCount: number;
  readonly sizeBytes: number;
  readonly fileCount: number;
}

/** By path, and by table id. What nobody looked at is not judged. */
export interface LakeFacts {
  readonly files: ReadonlyMap<string, FoundFile>;
  readonly tables: ReadonlyMap<number, TableFacts>;
  /** Of every table that is there. Absent: nobody asked. */
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
  /** Of data files. */
  readonly paths: ReadonlyMap<number, string>;
  readonly stats: ReadonlyMap<number, readonly FileStatsRow[]>;
  /** By table and column id. */
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

  /** What the catalog does not say cannot be wrong. */
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

/** Rows of a merged file begin with it at the earliest, and the last of them is what the catalog says. */
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

/** Long texts are cut, so their bounds may be wider; other types have theirs exactly. */
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
 * Ours name their data file as the lake does; DuckLake's own extension writes its whole path, as it
 * was then.
 */
function isSameFile(said: string, path: string | undefined): boolean {
  return path !== undefined && (said === path || said.endsWith(`/${path}`));
}

/**
 * What is shown of a table against what its files hold: counted in the files, not in the catalog's
 * rows.
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
        // A file that nobody could read is a finding of its own, and no measure of others.
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
