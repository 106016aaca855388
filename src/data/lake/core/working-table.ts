/** A table while a commit is planned, as changed by the commit so far. */
import { assert } from "../../../ground/kernel/errors.ts";
import type { ColumnStatsRow, CommitRows, TableFacts, TableStatsRow } from "./commit-rows.ts";
import type { SnapshotId, TableId } from "./model.ts";
import { type ColumnRow, isVisible, joinPath, type SchemaRow, type TableRow } from "./rows.ts";
import { type ColumnSummary, type FileSummary, mergeSummaries } from "./statistics.ts";

export class WorkingTable {
  readonly facts: TableFacts;
  readonly #snapshot: SnapshotId;
  readonly #isNew: boolean;
  #table: TableRow;
  #columns: ColumnRow[];
  #stats: TableStatsRow | undefined;
  #columnStats: ReadonlyMap<number, ColumnStatsRow>;
  #isRenamed = false;
  #hasNewDefinition = false;
  #hasNewColumnStats = false;
  isDropped: boolean = false;

  constructor(facts: TableFacts, snapshot: SnapshotId) {
    this.facts = facts;
    this.#snapshot = snapshot;
    this.#table = facts.table;
    this.#isNew = facts.table.begin_snapshot === snapshot;
    this.#hasNewDefinition = this.#isNew;
    this.#columns = facts.columns.map((row) => ({ ...row }));
    this.#stats = facts.stats;
    this.#columnStats = new Map(facts.columnStats.map((row) => [row.column_id, row]));
  }

  get id(): TableId {
    return this.#table.table_id as TableId;
  }
  get name(): string {
    return this.#table.table_name;
  }
  get schemaId(): number {
    return this.#table.schema_id;
  }
  get schema(): SchemaRow {
    return this.facts.schema;
  }
  get directory(): string {
    return joinPath(this.facts.schema, this.#table);
  }
  get stats(): TableStatsRow {
    return (
      this.#stats ?? { table_id: this.id, record_count: 0, next_row_id: 0, file_size_bytes: 0 }
    );
  }

  columnRows(): readonly ColumnRow[] {
    return this.#columns;
  }

  /** The current columns. */
  liveColumns(): readonly ColumnRow[] {
    return this.#columns.filter((row) => isVisible(row, this.#snapshot));
  }

  /** Whether earlier commits changed its columns after a snapshot. */
  changedColumnsSince(snapshot: SnapshotId): boolean {
    return this.facts.columns.some(
      (row) => row.begin_snapshot > snapshot || (row.end_snapshot ?? -1) > snapshot,
    );
  }

  rename(name: string): void {
    this.#table = { ...this.#table, table_name: name, begin_snapshot: this.#snapshot };
    this.#isRenamed = true;
    this.#hasNewDefinition = true;
  }

  addColumns(rows: readonly ColumnRow[]): void {
    this.#columns.push(...rows);
    this.#hasNewDefinition = true;
  }

  /** Ends the column with its nested fields. */
  endColumn(columnId: number): void {
    const ids = new Set(this.withChildren(columnId));
    this.#columns = this.#columns.flatMap((row) => {
      if (!ids.has(row.column_id) || !isVisible(row, this.#snapshot)) return [row];
      // A row that begins and ends in one commit was never visible.
      return row.begin_snapshot === this.#snapshot
        ? []
        : [{ ...row, end_snapshot: this.#snapshot }];
    });
    this.#hasNewDefinition = true;
  }

  withChildren(columnId: number): readonly number[] {
    const children = this.liveColumns().filter(({ parent_column }) => parent_column === columnId);
    return [columnId, ...children.flatMap((child) => this.withChildren(child.column_id))];
  }

  setStats(stats: TableStatsRow): void {
    this.#stats = stats;
  }

  /** Adds a new file's statistics. A column without any in a table with rows stays so. */
  mergeColumnStats(columnId: number, type: string, file: FileSummary, isFirst: boolean): void {
    const known = this.#columnStats.get(columnId);
    if (known === undefined && !isFirst) return;
    const whole = known === undefined ? file : mergeSummaries(type, summaryOf(known), file);
    this.putColumnStats(columnId, whole);
  }

  putColumnStats(columnId: number, whole: ColumnSummary): void {
    const row = statsRow(this.id, columnId, whole);
    const known = this.#columnStats.get(columnId);
    if (known !== undefined && isSameStats(known, row)) return;
    this.#columnStats = new Map(this.#columnStats).set(columnId, row);
    this.#hasNewColumnStats = true;
  }

  clearColumnStats(): void {
    this.#columnStats = new Map();
    this.#hasNewColumnStats = true;
  }

  /** Sets bounds to unknown, because the rows that had them may be gone. */
  forgetBounds(): void {
    for (const [columnId, row] of this.#columnStats) {
      this.putColumnStats(columnId, { ...summaryOf(row), min: undefined, max: undefined });
    }
  }

  finish(rows: CommitRows, schemaVersion: number): void {
    const tableId = this.id;
    if (this.isDropped) {
      if (!this.#isNew) rows.endedTables.push({ tableId, isDrop: true });
      return;
    }
    if (this.#isNew) rows.tables.push(this.#table);
    else if (this.#isRenamed) {
      rows.endedTables.push({ tableId, isDrop: false });
      rows.tables.push(this.#table);
    }
    const begun = this.#columns.filter((row) => row.begin_snapshot === this.#snapshot);
    const ended = this.#columns.filter((row) => row.end_snapshot === this.#snapshot);
    rows.columns.push(...begun);
    if (ended.length > 0) {
      rows.endedColumns.push({ tableId, columnIds: ended.map((row) => row.column_id) });
    }
    if (this.#hasNewDefinition) {
      rows.schemaVersions.push({
        begin_snapshot: this.#snapshot,
        schema_version: schemaVersion,
        table_id: tableId,
      });
    }
    if (this.#stats !== undefined && this.#stats !== this.facts.stats) {
      assert(this.#stats.record_count >= 0, `table ${this.name} has no less than no rows`);
      rows.tableStats.push({ row: this.#stats, isNew: this.facts.stats === undefined });
    }
    if (this.#hasNewColumnStats) {
      rows.columnStats.push({ tableId, rows: [...this.#columnStats.values()] });
    }
  }
}

function summaryOf(row: ColumnStatsRow): ColumnSummary {
  return {
    containsNull: row.contains_null === null ? undefined : row.contains_null !== 0,
    containsNan: row.contains_nan === null ? undefined : row.contains_nan !== 0,
    min: row.min_value ?? undefined,
    max: row.max_value ?? undefined,
  };
}

function statsRow(tableId: TableId, columnId: number, whole: ColumnSummary): ColumnStatsRow {
  return {
    table_id: tableId,
    column_id: columnId,
    contains_null: flag(whole.containsNull),
    contains_nan: flag(whole.containsNan),
    min_value: whole.min ?? null,
    max_value: whole.max ?? null,
    extra_stats: null,
  };
}

function flag(value: boolean | undefined): number | null {
  return value === undefined ? null : Number(value);
}

function isSameStats(a: ColumnStatsRow, b: ColumnStatsRow): boolean {
  return (
    a.contains_null === b.contains_null &&
    a.contains_nan === b.contains_nan &&
    a.min_value === b.min_value &&
    a.max_value === b.max_value
  );
}
