/**
 * One connection to a SQLite database: pragmas, `now_ms()`, prepared statements, transactions. It
 * throws translated errors only. It uses WAL with synchronous=FULL (ST17): with NORMAL, a power
 * loss could make it forget the newest lease epoch and grant it again. It blocks the thread for at
 * most `busyMsMax` when another process holds the lock; a longer wait is up to the caller.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { type CompiledQuery, type QueryResult, SqliteAdapter, SqliteQueryCompiler } from "kysely";
import { assert } from "../../kernel/errors.ts";
import type { StatementDialect } from "../catalog/open-transaction.ts";
import { translateSqliteError } from "./sqlite-errors.ts";

export type TransactionKind = "read" | "write";

export const sqliteStatements: StatementDialect = {
  adapter: new SqliteAdapter(),
  compiler: new SqliteQueryCompiler(),
};

const busyMsMax = 10;
const preparedMax = 500;

interface Prepared {
  readonly statement: StatementSync;
  readonly returnsRows: boolean;
}

export class SqliteConnection {
  readonly path: string;
  readonly #database: DatabaseSync;
  /** By text, least recently used first. */
  readonly #prepared = new Map<string, Prepared>();
  /** The last known `total_changes()`. Undefined once something may have been written. */
  #changesKnown: number | undefined;

  /** `nowMs` is the database's clock, in whole milliseconds since 1970. */
  constructor(path: string, nowMs: () => number) {
    this.path = path;
    try {
      this.#database = new DatabaseSync(path, { timeout: busyMsMax });
    } catch (error) {
      throw translateSqliteError(error, path);
    }
    // A BigInt becomes an INTEGER. A number would become a REAL.
    this.#database.function("now_ms", () => BigInt(Math.trunc(nowMs())));
  }

  /** Applies settings of this connection. The file stays as it is. */
  configure(): void {
    this.exec("PRAGMA foreign_keys = ON");
    this.exec("PRAGMA synchronous = FULL");
  }

  /** Sets the file's journal mode. Only setup calls it. */
  useWal(): void {
    const mode = this.rows("PRAGMA journal_mode")[0]?.journal_mode;
    if (mode !== "wal") this.exec("PRAGMA journal_mode = WAL");
  }

  get inTransaction(): boolean {
    return this.#database.isTransaction;
  }

  begin(kind: TransactionKind): void {
    if (kind === "write") {
      // Takes the write lock first, so that no transaction has to start over halfway.
      this.#execute("BEGIN IMMEDIATE", []);
      this.#changesKnown = undefined;
    } else {
      this.#execute("BEGIN", []);
      this.#changesKnown ??= this.#totalChanges();
    }
  }

  commit(kind: TransactionKind): void {
    // Setting `PRAGMA query_only` would discard every prepared statement.
    assert(
      kind === "write" || this.#totalChanges() === this.#changesKnown,
      "a transaction for reading wrote nothing",
    );
    this.#execute("COMMIT", []);
  }

  /** Also works where SQLite has already rolled back, as it does when the disk is full. */
  rollback(): void {
    this.#changesKnown = undefined;
    if (this.#database.isTransaction) this.#execute("ROLLBACK", []);
  }

  run(statement: CompiledQuery): QueryResult<unknown> {
    return this.#execute(statement.sql, statement.parameters);
  }

  rows(text: string): Readonly<Record<string, unknown>>[] {
    return this.#execute(text, []).rows as Readonly<Record<string, unknown>>[];
  }

  /** Runs any number of statements, none of them cached. */
  exec(text: string): void {
    this.#changesKnown = undefined;
    try {
      this.#database.exec(text);
    } catch (error) {
      throw translateSqliteError(error, this.path);
    }
  }

  close(): void {
    this.#prepared.clear();
    this.#database.close();
  }

  #totalChanges(): number {
    return this.rows("SELECT total_changes() AS n")[0]?.n as number;
  }

  #execute(text: string, parameters: readonly unknown[]): QueryResult<unknown> {
    try {
      const { statement, returnsRows } = this.#prepare(text);
      const values = parameters as readonly SQLInputValue[];
      if (returnsRows) return { rows: statement.all(...values) };
      return { rows: [], numAffectedRows: BigInt(statement.run(...values).changes) };
    } catch (error) {
      throw translateSqliteError(error, this.path);
    }
  }

  #prepare(text: string): Prepared {
    const known = this.#prepared.get(text);
    if (known !== undefined) {
      this.#prepared.delete(text);
      this.#prepared.set(text, known);
      return known;
    }
    const statement = this.#database.prepare(text);
    const prepared = { statement, returnsRows: statement.columns().length > 0 };
    this.#prepared.set(text, prepared);
    if (this.#prepared.size > preparedMax) {
      const oldest = this.#prepared.keys().next().value;
      assert(oldest !== undefined, "a full cache has an oldest entry");
      this.#prepared.delete(oldest);
    }
    return prepared;
  }
}
