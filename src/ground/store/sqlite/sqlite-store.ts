/**
 * The control store on one SQLite connection.
 *
 *   1  One transaction at a time on the connection, in the order they came; other processes on the same
 *      file are kept apart by SQLite's own lock.
 *   2  A busy database is waited for without blocking the thread: the whole transaction is tried again,
 *      until `waitBusy` says that it was long enough.
 *   3  A commit of watched changes pokes this process at once; `DataVersionPoller` sees those of others.
 *
 * The simulator runs this class as it is, on a database in memory that several stores share.
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
  /** Who listens to this store. */
  readonly pokes: PokeList;
  /** After a commit that changed watched tables. */
  readonly onCommitted: () => void;
  readonly changesKept: number;
  readonly watched: WatchedTables;
  /** Throws where a commit would go into a file that nobody finds again (ST58). */
  readonly checkFile?: () => void;
  /** Begins the waits of one transaction; the result waits once, and says `false` when that was enough. */
  readonly waitBusy: () => () => Promise<boolean>;
  /** Releases what the parts hold; called once. */
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
        // Outside of the gate, so that readers, who need no lock, go on meanwhile.
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
