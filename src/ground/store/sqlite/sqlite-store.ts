/**
 * The control store on one SQLite connection. It runs one transaction at a time, in order of
 * arrival; SQLite's own lock excludes other processes on the file. A busy database is waited for
 * without blocking the thread: the whole transaction is retried until `waitBusy` gives up (ST9). A
 * commit of watched changes pokes this process at once, and `DataVersionPoller` sees those of
 * others (ST25).
 *
 * The simulator runs this class on a database in memory that several stores share.
 */
import { type Gate, storeClosed } from "../catalog/gate.ts";
import { OpenTransaction } from "../catalog/open-transaction.ts";
import type { PokeList } from "../catalog/poke-list.ts";
import { runCatalogBody } from "../catalog/run-catalog-body.ts";
import { refuseUnloggedWrites, refuseWrites } from "../catalog/statement-guards.ts";
import type { WatchedTables } from "../core/schema.ts";
import type { CatalogTx, LeaseGrant, Store, Tx } from "../core/store.ts";
import {
  type SqliteConnection,
  sqliteStatements,
  type TransactionKind,
} from "./sqlite-connection.ts";
import { SqliteBusy } from "./sqlite-errors.ts";

export interface SqliteStoreParts {
  readonly connection: SqliteConnection;
  readonly gate: Gate;
  /** The listeners of this store. */
  readonly pokes: PokeList;
  /** Called after a commit that changed watched tables. */
  readonly onCommitted: () => void;
  readonly changesKept: number;
  readonly watched: WatchedTables;
  /** Throws if a commit would go into a file that was moved, replaced or deleted (ST58). */
  readonly checkFile?: () => void;
  /** Begins one transaction's waits. The result waits once, and gives false when time is over. */
  readonly waitBusy: () => () => Promise<boolean>;
  /** Releases what the parts hold. Called once. */
  readonly close: () => Promise<void>;
}

export class SqliteStore implements Store {
  readonly watched: WatchedTables;
  readonly dialect = "sqlite";
  readonly #parts: SqliteStoreParts;
  #closing: Promise<void> | undefined;

  constructor(parts: SqliteStoreParts) {
    this.#parts = parts;
    this.watched = parts.watched;
  }

  read<T>(body: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#run("read", (tx) => body({ db: refuseWrites(tx.db) }));
  }

  transaction<T>(body: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#run("write", (tx) => body({ db: refuseUnloggedWrites(tx.db, this.watched) }));
  }

  async catalogTransaction<T>(body: (tx: CatalogTx) => Promise<T>, lease?: LeaseGrant): Promise<T> {
    const { result, revision } = await this.#run("write", (tx) =>
      runCatalogBody(tx.db, this.#parts, body, lease),
    );
    if (revision !== undefined) this.#parts.onCommitted();
    return result;
  }

  onPoke(listener: () => void): () => void {
    return this.#parts.pokes.add(listener);
  }

  close(): Promise<void> {
    this.#closing ??= this.#parts.close();
    return this.#closing;
  }

  async #run<T>(kind: TransactionKind, body: (tx: OpenTransaction) => Promise<T>): Promise<T> {
    let waitBusy: (() => Promise<boolean>) | undefined;
    for (;;) {
      try {
        return await this.#attemptInTurn(kind, body);
      } catch (error) {
        if (!(error instanceof SqliteBusy)) throw error;
        // Outside of the gate, so that readers, which need no lock, go on meanwhile.
        waitBusy ??= this.#parts.waitBusy();
        if (!(await waitBusy())) throw error;
      }
    }
  }

  async #attemptInTurn<T>(
    kind: TransactionKind,
    body: (tx: OpenTransaction) => Promise<T>,
  ): Promise<T> {
    if (this.#closing !== undefined) throw storeClosed();
    await this.#parts.gate.enter();
    try {
      return await this.#attempt(kind, body);
    } finally {
      this.#parts.gate.leave();
    }
  }

  async #attempt<T>(kind: TransactionKind, body: (tx: OpenTransaction) => Promise<T>): Promise<T> {
    const { connection } = this.#parts;
    connection.begin(kind);
    const tx = new OpenTransaction(sqliteStatements, async (statement) =>
      connection.run(statement),
    );
    try {
      const result = await body(tx);
      tx.throwIfDoomed();
      if (kind === "write") this.#parts.checkFile?.();
      connection.commit(kind);
      return result;
    } catch (error) {
      connection.rollback();
      throw error;
    } finally {
      tx.end();
    }
  }
}
