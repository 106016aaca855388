/** Postgres under test: connections for load, and sessions beside them for everything else. */
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { assert, OperatingError } from "../../../../ground/kernel/errors.ts";
import type { ParameterValue } from "../../core/operation.ts";
import type {
  ServerPoll,
  StatementFigures,
  Target,
  TargetCapabilities,
  TargetConnection,
} from "../../core/target.ts";
import { openSession, type Session } from "./open-session.ts";
import { type PostgresAddress, parsePostgresUrl } from "./parse-postgres-url.ts";
import type { Row } from "./parse-rows.ts";
import { PostgresConnection } from "./postgres-connection.ts";
import { QuerySession } from "./query-session.ts";
import { queryServerPoll, queryStatementFigures } from "./server-queries.ts";

const idleSessionsMax = 2;

/** Throws `bad_request` for an invalid URL. Connects to nothing yet. */
export function createPostgresTarget(url: string, clock: Clock): Target {
  return new PostgresTarget(parsePostgresUrl(url), clock);
}

class PostgresTarget implements Target {
  readonly kind = "postgres";
  readonly capabilities: TargetCapabilities = {
    depthMax: 256,
    pollsServer: true,
    enrichment: "aggregate",
    transactions: true,
  };
  readonly #address: PostgresAddress;
  readonly #clock: Clock;
  readonly #connections = new Set<PostgresConnection>();
  readonly #sessions = new Set<QuerySession>();
  readonly #idle: QuerySession[] = [];
  #isClosed = false;

  constructor(address: PostgresAddress, clock: Clock) {
    this.#address = address;
    this.#clock = clock;
  }

  async connect(depth: number, signal: AbortSignal): Promise<TargetConnection> {
    assert(depth >= 1 && depth <= this.capabilities.depthMax, `a depth of ${depth}`);
    const session = await this.#open(signal, { keepsRows: false });
    const connection: PostgresConnection = new PostgresConnection(
      session,
      this.#address,
      depth,
      () => this.#connections.delete(connection),
    );
    this.#connections.add(connection);
    return connection;
  }

  async run(
    sql: string,
    values: readonly ParameterValue[],
    signal: AbortSignal,
  ): Promise<readonly Row[]> {
    const session = await this.#takeSession(signal);
    try {
      return await session.run(sql, values, signal);
    } finally {
      await this.#giveBack(session);
    }
  }

  pollServer(signal: AbortSignal): Promise<ServerPoll> {
    return queryServerPoll((sql) => this.run(sql, [], signal));
  }

  statementFigures(signal: AbortSignal): Promise<readonly StatementFigures[]> {
    return queryStatementFigures((sql) => this.run(sql, [], signal));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#connections, ...this.#sessions].map((open) => open.close()));
  }

  async #takeSession(signal: AbortSignal): Promise<QuerySession> {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (idle.isUsable) return idle;
      this.#sessions.delete(idle);
    }
    const opened = await this.#open(signal, { keepsRows: true });
    const session = new QuerySession(opened, this.#address);
    this.#sessions.add(session);
    return session;
  }

  async #giveBack(session: QuerySession): Promise<void> {
    if (session.isUsable && this.#idle.length < idleSessionsMax && !this.#isClosed) {
      this.#idle.push(session);
    } else {
      this.#sessions.delete(session);
      await session.close();
    }
  }

  async #open(signal: AbortSignal, options: { readonly keepsRows: boolean }): Promise<Session> {
    const closed = (): OperatingError =>
      new OperatingError("shutting_down", "never", "the target was closed");
    if (this.#isClosed) throw closed();
    const session = await openSession(this.#address, this.#clock, signal, options);
    if (!this.#isClosed) return session;
    session.wire.destroy();
    throw closed();
  }
}
