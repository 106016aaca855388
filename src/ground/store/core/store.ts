/**
 * The control store: what must survive any process, on SQLite or Postgres. A transaction's body may
 * run several times, so it has no effects besides its statements and waits for nothing else. A
 * transaction that threw changed nothing, except for `commit_unknown`, which only a connection that
 * breaks during COMMIT can cause. Rules: ST1 to ST16, ST20 to ST26, ST42.
 */
import type { Kysely, Selectable } from "kysely";
import type { LeaseEpoch, Revision } from "../../kernel/ids.ts";
import type { ControlSchema, WatchedTable, WatchedTables } from "./schema.ts";
import type { WatchRow } from "./watch-select.ts";

/** Statements inside one transaction. A failed one dooms it, even where the error is caught. */
export interface Tx {
  readonly db: Kysely<ControlSchema>;
}

/** A transaction that may change watched tables, through these methods only, which log it. */
export interface CatalogTx extends Tx {
  insert<T extends WatchedTable>(table: T, row: Selectable<ControlSchema[T]>): Promise<void>;
  /** Undefined when there is no such row. A patch that changes nothing is not logged. */
  update<T extends WatchedTable>(
    table: T,
    key: string,
    patch: Partial<Selectable<ControlSchema[T]>>,
  ): Promise<Selectable<ControlSchema[T]> | undefined>;
  /** The removed row, or undefined. Throws `worker_busy` and its like when it is referenced. */
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
  /** A consistent read-only snapshot: it never waits for writers, and a write in it fails. */
  read<T>(body: (tx: Tx) => Promise<T>): Promise<T>;
  /** For tables that are not watched. Retried on serialization conflicts. */
  transaction<T>(body: (tx: Tx) => Promise<T>): Promise<T>;
  /** For watched tables, one at a time over all processes. A stale `lease` fails it (ST42). */
  catalogTransaction<T>(body: (tx: CatalogTx) => Promise<T>, lease?: LeaseGrant): Promise<T>;
  /** Called soon after any process committed a watched change, and sometimes without one. */
  onPoke(listener: () => void): () => void;
  /** Waits for transactions that have begun, refuses new ones with `shutting_down`. Idempotent. */
  close(): Promise<void>;
}

/** A change as the log holds it. */
export interface CatalogChange {
  readonly revision: Revision;
  readonly table: string;
  readonly key: string;
  readonly op: "CREATE" | "UPDATE" | "DROP";
  /** The row after the change; before it for a DROP. */
  readonly row: WatchRow;
  /** The row before an UPDATE, so that a filter knows whether it enters or leaves. */
  readonly oldRow: WatchRow | undefined;
}
