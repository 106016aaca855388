/**
 * The control store: what must survive any process, on SQLite or Postgres.
 *
 *   S1  A transaction is serializable and all or nothing. Its body may run several times, so it has no
 *       effects besides its statements and never waits for anything else.
 *   S2  A transaction that returned is durable; one that threw changed nothing, with one exception,
 *       `commit_unknown`, that only a broken connection during COMMIT can cause and that the store first
 *       tries to resolve.
 *   S3  Time is the database's: SQL says `now_ms()`.
 *   S4  Every change of a watched table is in the change log, in the same commit; revisions have no gaps
 *       a reader could fall into and follow commit order.
 *   S5  A write under a lease whose epoch is no longer the newest fails with `lease_lost` and changes nothing.
 */
import type { Kysely, Selectable } from "kysely";
import type { LeaseEpoch, Revision } from "../../kernel/ids.ts";
import type { ControlSchema, WatchedTable, WatchedTables } from "./schema.ts";
import type { WatchRow } from "./watch-select.ts";

/** Statements inside one transaction. One that fails dooms the transaction, even where the body catches it. */
export interface Tx {
  readonly db: Kysely<ControlSchema>;
}

/** A transaction that may change watched tables: only through these, so that no change goes unlogged. */
export interface CatalogTx extends Tx {
  insert<T extends WatchedTable>(table: T, row: Selectable<ControlSchema[T]>): Promise<void>;
  /** `undefined`: there is no such row. A patch that changes nothing is not logged. */
  update<T extends WatchedTable>(
    table: T,
    key: string,
    patch: Partial<Selectable<ControlSchema[T]>>,
  ): Promise<Selectable<ControlSchema[T]> | undefined>;
  /** The removed row; `undefined` where there was none. Throws `worker_busy` and its like when it is referenced. */
  remove<T extends WatchedTable>(
    table: T,
    key: string,
  ): Promise<Selectable<ControlSchema[T]> | undefined>;
  /** The database's clock, read in this transaction. */
  nowMs(): Promise<number>;
}

/** Proof of holding the coordinator's lease. */
export interface LeaseGrant {
  readonly name: string;
  readonly holder: string;
  readonly epoch: LeaseEpoch;
}

export interface Store {
  readonly dialect: "sqlite" | "postgres";
  /** Tables whose changes are logged. */
  readonly watched: WatchedTables;
  /** A consistent snapshot, for reading only: it never waits for writers, and a write in it fails. */
  read<T>(body: (tx: Tx) => Promise<T>): Promise<T>;
  /** For tables that are not watched. Retried on serialization conflicts. */
  transaction<T>(body: (tx: Tx) => Promise<T>): Promise<T>;
  /** For watched tables. One at a time over all processes. With `lease`, S5 holds. */
  catalogTransaction<T>(body: (tx: CatalogTx) => Promise<T>, lease?: LeaseGrant): Promise<T>;
  /** Called soon after any process committed a change of a watched table; may be called without one. */
  onPoke(listener: () => void): () => void;
  /** Waits for the transactions that have begun, refuses new ones with `shutting_down`. Idempotent. */
  close(): Promise<void>;
}

/** A change as the log holds it. */
export interface CatalogChange {
  readonly revision: Revision;
  readonly table: string;
  readonly key: string;
  readonly op: "CREATE" | "UPDATE" | "DROP";
  /** After the change; before it for a DROP. */
  readonly row: WatchRow;
  /** Before an UPDATE, so that a filter knows whether the row enters or leaves it. */
  readonly oldRow: WatchRow | undefined;
}
