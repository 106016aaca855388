/**
 * Sessions: connections for several of our own statements with temporary tables, for writing the
 * lake and refreshing tables (QE2). In the engine's process.
 */

import type { Clock } from "../../ground/kernel/clock.ts";
import { assert, OperatingError } from "../../ground/kernel/errors.ts";
import { quoteName } from "../sql/core/index.ts";
import { isInterrupt, translateDuckDbError } from "./duckdb-error.ts";
import type { Relation } from "./engine-messages.ts";
import { withRelations } from "./relations.ts";
import { cancelled, interruptible, type Lane, type StatementPool } from "./statement-pool.ts";

interface LaneSession {
  readonly lane: Lane;
  /** The statement under way; never rejects. */
  statement: Promise<unknown>;
  readonly end: () => void;
  /** Resolves when the connection has been handed on. */
  readonly ended: Promise<void>;
}

/** JSON values from DuckDB's client. */
export interface SessionRows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

export class LaneSessions {
  readonly #pool: StatementPool;
  readonly #clock: Clock;
  readonly #sessions = new Map<number, LaneSession>();
  #next = 1;

  constructor(pool: StatementPool, clock: Clock) {
    this.#pool = pool;
    this.#clock = clock;
  }

  /** `began` is called when it has its connection. */
  async open(
    relations: readonly Relation[],
    signal: AbortSignal,
    began: () => void,
  ): Promise<number> {
    const opened = Promise.withResolvers<Lane>();
    const end = Promise.withResolvers<void>();
    // Only the wait for a connection can be aborted: statements have their own signals.
    const waiting = new AbortController();
    const onAbort = (): void => waiting.abort();
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    const ended = this.#pool.run(async (lane) => {
      began();
      try {
        await withRelations(lane, relations, async () => {
          opened.resolve(lane);
          await end.promise;
        });
      } finally {
        await forget(lane);
      }
    }, waiting.signal);
    ended.catch(opened.reject);
    try {
      const lane = await opened.promise;
      const id = this.#next;
      this.#next += 1;
      this.#sessions.set(id, { lane, statement: Promise.resolve(), end: end.resolve, ended });
      return id;
    } catch (thrown) {
      throw translated(thrown);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** One statement at a time. */
  async run(id: number, sql: string, signal: AbortSignal): Promise<SessionRows> {
    const session = this.#sessions.get(id);
    if (session === undefined) throw new OperatingError("not_found", "never", `no session ${id}`);
    if (signal.aborted) throw cancelled();
    const { lane } = session;
    const rows = interruptible(
      lane,
      async () => {
        const reader = await lane.connection.runAndReadAll(sql);
        return { columns: reader.columnNames(), rows: reader.getRowsJson() };
      },
      signal,
      this.#clock,
    );
    session.statement = rows.catch(() => undefined);
    try {
      return await rows;
    } catch (thrown) {
      throw translated(thrown);
    }
  }

  /** Waits for the statement under way. Idempotent. */
  async close(id: number): Promise<void> {
    const session = this.#sessions.get(id);
    if (session === undefined) return;
    await session.statement;
    session.end();
    try {
      await session.ended;
    } finally {
      this.#sessions.delete(id);
    }
  }

  get size(): number {
    return this.#sessions.size;
  }

  async closeAll(): Promise<void> {
    await Promise.all(Array.from(this.#sessions.keys(), (id) => this.close(id)));
  }
}

function translated(thrown: unknown): unknown {
  if (thrown instanceof OperatingError || isInterrupt(thrown)) return thrown;
  return translateDuckDbError(thrown);
}

/** Drops the session's tables before the connection is handed on. */
async function forget({ connection, catalog }: Lane): Promise<void> {
  const reader = await connection.runAndReadAll(
    `SELECT database_name, schema_name, table_name FROM duckdb_tables() WHERE database_name IN ('${catalog}', 'temp')`,
  );
  for (const names of reader.getRowsJson()) {
    const parts = names.map((name) => {
      assert(typeof name === "string", "a name is a text");
      return quoteName(name);
    });
    await connection.run(`DROP TABLE IF EXISTS ${parts.join(".")}`);
  }
}
