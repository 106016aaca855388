/**
 * One open transaction: the Kysely that its body sees, on one connection. A statement after the end
 * is our bug (a floating promise) and never runs in another transaction (ST5). The first statement
 * that fails dooms the transaction, as in Postgres; SQLite alone would go on (ST4).
 *
 * The stores begin, commit and retry. Kysely's own transactions are not used.
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

/** Runs one statement. Throws only translated errors. */
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

  /** Throws the error of the first failed statement. */
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
