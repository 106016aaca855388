/**
 * One transaction while it is open: the Kysely that its body sees, on one connection.
 *
 *   1  A statement after the end of its transaction is our bug (a promise left floating), never a
 *      statement of somebody else's transaction.
 *   2  The first statement that fails dooms the transaction: later ones fail with the same error and it
 *      does not commit. Postgres behaves so; SQLite alone would go on.
 *
 * Beginning, committing and retrying belong to the stores; Kysely's own transactions are not used.
 */
import {
  type CompiledQuery,
  type DatabaseConnection,
  type DialectAdapter,
  type Driver,
  Kysely,
  type QueryCompiler,
  type QueryResult,
} from "kysely";
import { AssertionError, assert } from "../../kernel/errors.ts";
import type { ControlSchema } from "../core/schema.ts";

/** What differs between the databases' statements. */
export interface StatementDialect {
  readonly adapter: DialectAdapter;
  readonly compiler: QueryCompiler;
}

/** Runs one statement; throws only translated errors. */
export type RunStatement = (statement: CompiledQuery) => Promise<QueryResult<unknown>>;

export class OpenTransaction implements DatabaseConnection {
  readonly db: Kysely<ControlSchema>;
  readonly #run: RunStatement;
  #open = true;
  #failure: { readonly error: unknown } | undefined;

  constructor(dialect: StatementDialect, run: RunStatement) {
    this.#run = run;
    const driver = new OneConnectionDriver(this);
    this.db = new Kysely({
      dialect: {
        createAdapter: () => dialect.adapter,
        createDriver: () => driver,
        createQueryCompiler: () => dialect.compiler,
        createIntrospector: () => {
          throw new AssertionError("the store's schema is known and never introspected");
        },
      },
    });
  }

  /** Throws what the first failed statement threw. */
  throwIfDoomed(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  end(): void {
    this.#open = false;
  }

  async executeQuery<R>(statement: CompiledQuery): Promise<QueryResult<R>> {
    assert(this.#open, `a statement outside of its transaction: ${statement.sql}`);
    this.throwIfDoomed();
    try {
      return (await this.#run(statement)) as QueryResult<R>;
    } catch (error) {
      this.#failure ??= { error };
      throw error;
    }
  }

  streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new AssertionError("the store's transactions are short and do not stream");
  }
}

class OneConnectionDriver implements Driver {
  readonly #connection: DatabaseConnection;

  constructor(connection: DatabaseConnection) {
    this.#connection = connection;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {}

  beginTransaction(): Promise<void> {
    return refuseNesting();
  }

  commitTransaction(): Promise<void> {
    return refuseNesting();
  }

  rollbackTransaction(): Promise<void> {
    return refuseNesting();
  }
}

function refuseNesting(): never {
  throw new AssertionError("a transaction's body is inside a transaction already");
}
