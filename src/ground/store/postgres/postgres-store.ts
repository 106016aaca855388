/**
 * The control store on Postgres. Every transaction is SERIALIZABLE. A conflict, a deadlock or a
 * connection lost before COMMIT makes it run again as a whole, with growing pauses, for a bounded
 * time.
 *
 * A catalog transaction first locks `catalog_revision`. LOCK TABLE takes no snapshot, so the
 * snapshot comes after the lock and shows all earlier catalog transactions. They are therefore
 * serial, do not conflict with each other, and their revisions follow commit order. EXCLUSIVE still
 * allows reads. NOTIFY is part of the commit. Rules: ST11, ST12, ST21.
 */
import {
  type CompiledQuery,
  PostgresAdapter,
  PostgresQueryCompiler,
  type QueryResult,
} from "kysely";
import type pg from "pg";
import type { Clock } from "../../kernel/clock.ts";
import { assert, OperatingError } from "../../kernel/errors.ts";
import type { Prng } from "../../kernel/prng.ts";
import type { Gate } from "../catalog/gate.ts";
import { OpenTransaction } from "../catalog/open-transaction.ts";
import type { PokeList } from "../catalog/poke-list.ts";
import { RetryBound } from "../catalog/retry-bound.ts";
import { runCatalogBody } from "../catalog/run-catalog-body.ts";
import { refuseUnloggedWrites, refuseWrites } from "../catalog/statement-guards.ts";
import type { WatchedTables } from "../core/schema.ts";
import type { CatalogTx, LeaseGrant, Store, Tx } from "../core/store.ts";
import { isConnectionLost, isReadOnlyRefusal, translatePostgresError } from "./postgres-errors.ts";
import { resolveCommit } from "./resolve-commit.ts";

export interface PostgresStoreParts {
  readonly pool: pg.Pool;
  readonly gate: Gate;
  readonly pokes: PokeList;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly place: string;
  readonly changesKept: number;
  readonly watched: WatchedTables;
  readonly waitMsMax: number;
  /** Whether the server can tell the fate of a transaction. */
  readonly knowsXactStatus: boolean;
  /** Releases what the parts hold. Called once. */
  readonly close: () => Promise<void>;
}

type TransactionKind = "read" | "write" | "catalog";

const begin = {
  read: "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY",
  write: "BEGIN ISOLATION LEVEL SERIALIZABLE",
  catalog: "BEGIN ISOLATION LEVEL SERIALIZABLE; LOCK TABLE catalog_revision IN EXCLUSIVE MODE",
} as const;

/** In the same round trip as BEGIN, and after the lock. */
const andTellXid = "; SELECT pg_current_xact_id()::text AS xid";

export const catalogChannel = "capstan_catalog";

const statements = { adapter: new PostgresAdapter(), compiler: new PostgresQueryCompiler() };

export class PostgresStore implements Store {
  readonly watched: WatchedTables;
  readonly dialect = "postgres";
  readonly #parts: PostgresStoreParts;
  #closing: Promise<void> | undefined;

  constructor(parts: PostgresStoreParts) {
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
    const { result, revision } = await this.#run("catalog", async (tx, client) => {
      const outcome = await runCatalogBody(tx.db, this.#parts, body, lease);
      if (outcome.revision !== undefined) {
        await this.#query(client, `NOTIFY ${catalogChannel}, '${outcome.revision}'`);
      }
      return outcome;
    });
    if (revision !== undefined) this.#parts.pokes.poke();
    return result;
  }

  onPoke(listener: () => void): () => void {
    return this.#parts.pokes.add(listener);
  }

  close(): Promise<void> {
    this.#closing ??= this.#parts.close();
    return this.#closing;
  }

  async #run<T>(
    kind: TransactionKind,
    body: (tx: OpenTransaction, client: pg.ClientBase) => Promise<T>,
  ): Promise<T> {
    const bound = this.#retryBound();
    for (;;) {
      await this.#parts.gate.enter();
      let failure: unknown;
      try {
        return await this.#attempt(kind, body);
      } catch (error) {
        failure = error;
      } finally {
        this.#parts.gate.leave();
      }
      if (!mayPass(failure) || !(await bound.pause())) throw failure;
    }
  }

  async #attempt<T>(
    kind: TransactionKind,
    body: (tx: OpenTransaction, client: pg.ClientBase) => Promise<T>,
  ): Promise<T> {
    const client = await this.#connect();
    let isUsable = false;
    let tx: OpenTransaction | undefined;
    try {
      const xid = await this.#begin(client, kind);
      tx = new OpenTransaction(statements, (statement) => this.#statement(client, statement));
      const result = await body(tx, client);
      tx.throwIfDoomed();
      tx.end();
      isUsable = await this.#commit(client, kind, xid);
      return result;
    } catch (error) {
      tx?.end();
      isUsable = !isUnavailable(error) && (await rollback(client));
      assert(
        kind !== "read" || !isReadOnlyRefusal(error),
        "a transaction for reading wrote nothing",
      );
      throw error;
    } finally {
      client.release(!isUsable);
    }
  }

  async #connect(): Promise<pg.PoolClient> {
    try {
      return await this.#parts.pool.connect();
    } catch (error) {
      throw translatePostgresError(error, this.#parts.place);
    }
  }

  /** The transaction's id, if it may be needed to ask for its fate. */
  async #begin(client: pg.ClientBase, kind: TransactionKind): Promise<string | undefined> {
    if (kind === "read" || !this.#parts.knowsXactStatus) {
      await this.#query(client, begin[kind]);
      return undefined;
    }
    // Several statements in one text give several results, which the types do not say.
    const results = await this.#query(client, begin[kind] + andTellXid);
    const last = (results as unknown as pg.QueryResult<{ xid: string }>[]).at(-1);
    return last?.rows[0]?.xid;
  }

  /** Returns whether the connection can be used again. */
  async #commit(
    client: pg.ClientBase,
    kind: TransactionKind,
    xid: string | undefined,
  ): Promise<boolean> {
    try {
      const { command } = await client.query("COMMIT");
      assert(command === "COMMIT", `COMMIT answers COMMIT, not ${command}`);
      return true;
    } catch (error) {
      const translated = translatePostgresError(error, this.#parts.place);
      if (!isConnectionLost(error) || kind === "read") throw translated;
      const outcome = await resolveCommit(this.#parts.pool, { xid }, this.#retryBound());
      if (outcome === "committed") return false;
      if (outcome === "aborted") throw translated;
      throw new OperatingError(
        "commit_unknown",
        "backoff",
        `the connection to ${this.#parts.place} was lost during COMMIT, and whether it was done cannot be told`,
        { cause: error, hint: "look at the state before doing it again" },
      );
    }
  }

  async #statement(client: pg.ClientBase, statement: CompiledQuery): Promise<QueryResult<unknown>> {
    const parameters = [...statement.parameters];
    const { command, rowCount, rows } = await this.#query(client, statement.sql, parameters);
    if (command === "SELECT" || rowCount === null) return { rows };
    return { rows, numAffectedRows: BigInt(rowCount) };
  }

  async #query(
    client: pg.ClientBase,
    text: string,
    parameters: unknown[] = [],
  ): Promise<pg.QueryResult> {
    try {
      // Without parameters `pg` uses the simple protocol, which allows several statements.
      return await (parameters.length === 0 ? client.query(text) : client.query(text, parameters));
    } catch (error) {
      throw translatePostgresError(error, this.#parts.place);
    }
  }

  #retryBound(): RetryBound {
    const { clock, prng, waitMsMax } = this.#parts;
    return new RetryBound(clock, prng, { minMs: 5, maxMs: 500, retryMsMax: waitMsMax });
  }
}

async function rollback(client: pg.ClientBase): Promise<boolean> {
  try {
    await client.query("ROLLBACK");
    return true;
  } catch {
    return false; // The server rolls back when the connection ends.
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof OperatingError && error.code === "store_unavailable";
}

function mayPass(error: unknown): boolean {
  if (!(error instanceof OperatingError) || error.retry === "never") return false;
  return error.code === "store_busy" || error.code === "store_unavailable";
}
