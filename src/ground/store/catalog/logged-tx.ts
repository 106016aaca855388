/**
 * The transaction that changes watched tables (ST20 to ST24). The log is written at the end, at
 * once, so that many rows cost two statements a row and not four. Revisions are allocated while the
 * database runs only one such transaction, so they have no gaps and follow commit order. The log
 * keeps up to a tenth more than `changesKept` changes, so that trimming is rare.
 */
import { type Kysely, type Selectable, sql } from "kysely";
import { assert, OperatingError } from "../../kernel/errors.ts";
import { parseRevision, type Revision } from "../../kernel/ids.ts";
import type { ControlSchema, WatchedColumns, WatchedTable, WatchedTables } from "../core/schema.ts";
import { watchedColumns } from "../core/schema.ts";
import type { CatalogTx } from "../core/store.ts";
import type { WatchRow } from "../core/watch-select.ts";
import { refuseUnloggedWrites } from "./statement-guards.ts";

interface PendingChange {
  readonly table: WatchedTable;
  readonly key: string;
  readonly op: "CREATE" | "UPDATE" | "DROP";
  readonly row: WatchRow;
  readonly oldRow: WatchRow | undefined;
}

export const changesKeptDefault = 10_000;

/** Seven parameters a row; SQLite allows 32,766 in a statement. */
const logRowsPerInsert = 500;

/** A watched table whose name is known only at run time. */
type AnyTable = Record<string, Record<string, string | number | null>>;

export class LoggedTx implements CatalogTx {
  readonly db: Kysely<ControlSchema>;
  readonly #unguarded: Kysely<ControlSchema>;
  readonly #watched: WatchedTables;
  readonly #changesKept: number;
  #pending: PendingChange[] = [];

  constructor(db: Kysely<ControlSchema>, watched: WatchedTables, changesKept: number) {
    assert(changesKept > 0, "the log keeps at least one change");
    this.#unguarded = db;
    this.db = refuseUnloggedWrites(db, watched);
    this.#watched = watched;
    this.#changesKept = changesKept;
  }

  async insert<T extends WatchedTable>(table: T, row: Selectable<ControlSchema[T]>): Promise<void> {
    const whole = this.#wholeRow(table, row);
    const key = whole[this.#keyColumn(table)];
    assert(typeof key === "string", `the key of ${table} is text`);
    await this.#tables().insertInto(table).values(whole).execute();
    this.#pending.push({ table, key, op: "CREATE", row: whole, oldRow: undefined });
  }

  async update<T extends WatchedTable>(
    table: T,
    key: string,
    patch: Partial<Selectable<ControlSchema[T]>>,
  ): Promise<Selectable<ControlSchema[T]> | undefined> {
    const oldRow = await this.#rowOf(table, key);
    if (oldRow === undefined) return undefined;
    const changed = Object.entries(patch as WatchRow).filter(
      ([column, value]) => value !== undefined && oldRow[column] !== value,
    );
    if (changed.length === 0) return oldRow as Selectable<ControlSchema[T]>;
    const values = Object.fromEntries(changed);
    assert(!(this.#keyColumn(table) in values), `the key of ${table} never changes`);
    const row = this.#wholeRow(table, { ...oldRow, ...values });
    await this.#tables()
      .updateTable(table as string)
      .set(values)
      .where(this.#keyColumn(table), "=", key)
      .execute();
    this.#pending.push({ table, key, op: "UPDATE", row, oldRow });
    return row as Selectable<ControlSchema[T]>;
  }

  async remove<T extends WatchedTable>(
    table: T,
    key: string,
  ): Promise<Selectable<ControlSchema[T]> | undefined> {
    const row = await this.#rowOf(table, key);
    if (row === undefined) return undefined;
    try {
      await this.#tables()
        .deleteFrom(table as string)
        .where(this.#keyColumn(table), "=", key)
        .execute();
    } catch (error) {
      throw whileReferenced(table, key, error);
    }
    this.#pending.push({ table, key, op: "DROP", row, oldRow: undefined });
    return row as Selectable<ControlSchema[T]>;
  }

  async nowMs(): Promise<number> {
    const result = await sql<{ now: number }>`SELECT now_ms() AS now`.execute(this.#unguarded);
    const now = result.rows[0]?.now;
    assert(now !== undefined, "now_ms() gives one row");
    return now;
  }

  /** Writes the log. Undefined when nothing was changed. Called once, just before COMMIT. */
  async flush(): Promise<Revision | undefined> {
    const pending = this.#pending;
    this.#pending = [];
    if (pending.length === 0) return undefined;
    const advanced = await this.#unguarded
      .updateTable("catalog_revision")
      .set({ revision: sql`revision + ${pending.length}` })
      .where("id", "=", 1)
      .returning(["revision", "trimmed_revision"])
      .executeTakeFirstOrThrow();
    const firstRevision = advanced.revision - pending.length + 1;
    const rows = pending.map((change, index) => ({
      revision: firstRevision + index,
      table_name: change.table,
      row_key: change.key,
      op: change.op,
      row_json: JSON.stringify(change.row),
      old_row_json: change.oldRow === undefined ? null : JSON.stringify(change.oldRow),
      committed_at_ms: sql<number>`now_ms()`,
    }));
    for (let start = 0; start < rows.length; start += logRowsPerInsert) {
      await this.#unguarded
        .insertInto("catalog_changes")
        .values(rows.slice(start, start + logRowsPerInsert))
        .execute();
    }
    await this.#trim(advanced.revision, advanced.trimmed_revision);
    const revision = parseRevision(advanced.revision);
    assert(revision !== undefined, "a revision is a safe integer");
    return revision;
  }

  async #trim(revision: number, trimmedRevision: number): Promise<void> {
    const slack = Math.ceil(this.#changesKept / 10);
    if (revision - trimmedRevision <= this.#changesKept + slack) return;
    const trimTo = revision - this.#changesKept;
    await this.#unguarded.deleteFrom("catalog_changes").where("revision", "<=", trimTo).execute();
    await this.#unguarded
      .updateTable("catalog_revision")
      .set({ trimmed_revision: trimTo })
      .where("id", "=", 1)
      .execute();
  }

  async #rowOf(table: WatchedTable, key: string): Promise<WatchRow | undefined> {
    const row = await this.#tables()
      .selectFrom(table)
      .selectAll()
      .where(this.#keyColumn(table), "=", key)
      .executeTakeFirst();
    return row === undefined ? undefined : this.#wholeRow(table, row);
  }

  #tables(): Kysely<AnyTable> {
    return this.#unguarded as unknown as Kysely<AnyTable>;
  }

  /**
   * All columns of the table and no others, in the schema's order, so that equal rows are equal
   * JSON.
   */
  #wholeRow(table: WatchedTable, row: object): WatchRow {
    const values = row as WatchRow;
    const columns = Object.keys(this.#columnsOf(table).columns);
    const whole: Record<string, string | number | null> = {};
    for (const column of columns) {
      const value = values[column];
      assert(value !== undefined, `a row of ${table} has a ${column}`);
      whole[column] = value;
    }
    assert(Object.keys(values).length === columns.length, `a row of ${table} has only its columns`);
    return whole;
  }

  #keyColumn(table: WatchedTable): string {
    return this.#columnsOf(table).key;
  }

  #columnsOf(table: WatchedTable): WatchedColumns {
    const columns = watchedColumns(this.#watched, table);
    assert(columns !== undefined, `this store was opened to watch ${table}`);
    return columns;
  }
}

function whileReferenced(table: WatchedTable, key: string, error: unknown): unknown {
  const isReferenced = error instanceof OperatingError && error.code === "reference_violated";
  if (!isReferenced || table !== "workers") return error;
  return new OperatingError("worker_busy", "backoff", `worker ${key} is still in use`, {
    cause: error,
  });
}
