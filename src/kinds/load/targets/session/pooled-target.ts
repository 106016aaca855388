/** A `Target` with connections for load, and a few sessions beside them for everything else. */
import { assert, OperatingError } from "../../../../ground/kernel/errors.ts";
import type { ParameterValue } from "../../core/operation.ts";
import type {
  ServerPoll,
  StatementFigures,
  Target,
  TargetCapabilities,
  TargetConnection,
} from "../../core/target.ts";
import type { Row, RunSession } from "./driver-session.ts";

export type RunQuery = (sql: string, values?: readonly ParameterValue[]) => Promise<readonly Row[]>;

/** What a kind of target brings. What opens rejects with an `OperatingError`. */
export interface PooledKind {
  readonly kind: string;
  readonly capabilities: TargetCapabilities;
  open(signal: AbortSignal): Promise<RunSession>;
  /** `onOver` is called once, when the connection was closed or broke. */
  connect(depth: number, signal: AbortSignal, onOver: () => void): Promise<TargetConnection>;
  pollServer?(run: RunQuery): Promise<ServerPoll>;
  statementFigures?(run: RunQuery): Promise<readonly StatementFigures[]>;
  /** After all sessions are closed. */
  close?(): Promise<void>;
}

const idleSessionsMax = 2;

export class PooledTarget implements Target {
  readonly kind: string;
  readonly capabilities: TargetCapabilities;
  readonly #of: PooledKind;
  readonly #connections = new Set<TargetConnection>();
  readonly #sessions = new Set<RunSession>();
  readonly #idle: RunSession[] = [];
  #closed: Promise<void> | undefined;

  constructor(of: PooledKind) {
    this.kind = of.kind;
    this.capabilities = of.capabilities;
    this.#of = of;
  }

  async connect(depth: number, signal: AbortSignal): Promise<TargetConnection> {
    assert(depth >= 1 && depth <= this.capabilities.depthMax, `a depth of ${depth}`);
    let connection: TargetConnection | undefined;
    let isOver = false;
    const onOver = (): void => {
      isOver = true; // Perhaps before anybody has it.
      if (connection !== undefined) this.#connections.delete(connection);
    };
    connection = await this.#opened(() => this.#of.connect(depth, signal, onOver));
    if (!isOver) this.#connections.add(connection);
    return connection;
  }

  async run(
    sql: string,
    values: readonly ParameterValue[],
    signal: AbortSignal,
  ): Promise<readonly Row[]> {
    const session = await this.#takeSession(signal);
    const aborted = Promise.withResolvers<never>();
    aborted.promise.catch(() => undefined);
    const abort = (): void => {
      void this.#drop(session); // What it was doing is stopped with it.
      aborted.reject(new OperatingError("cancelled", "never", "the statement"));
    };
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    try {
      return await Promise.race([session.run(sql, values), aborted.promise]);
    } catch (error) {
      if (signal.aborted) throw new OperatingError("cancelled", "never", "the statement");
      throw error;
    } finally {
      signal.removeEventListener("abort", abort);
      await this.#giveBack(session);
    }
  }

  async pollServer(signal: AbortSignal): Promise<ServerPoll> {
    if (this.#of.pollServer === undefined) throw this.#unsupported("no poll of its server");
    return await this.#of.pollServer((sql, values = []) => this.run(sql, values, signal));
  }

  async statementFigures(signal: AbortSignal): Promise<readonly StatementFigures[]> {
    if (this.#of.statementFigures === undefined)
      throw this.#unsupported("no figures of statements");
    return await this.#of.statementFigures((sql, values = []) => this.run(sql, values, signal));
  }

  close(): Promise<void> {
    this.#closed ??= Promise.all(
      [...this.#connections, ...this.#sessions].map((open) => open.close()),
    ).then(() => this.#of.close?.());
    return this.#closed;
  }

  async #takeSession(signal: AbortSignal): Promise<RunSession> {
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    const session = await this.#opened(() => this.#of.open(signal));
    this.#sessions.add(session);
    session.onLost(() => void this.#drop(session));
    return session;
  }

  async #giveBack(session: RunSession): Promise<void> {
    if (!this.#sessions.has(session)) return;
    if (this.#idle.length < idleSessionsMax && this.#closed === undefined) this.#idle.push(session);
    else await this.#drop(session);
  }

  #drop(session: RunSession): Promise<void> {
    this.#sessions.delete(session);
    const at = this.#idle.indexOf(session);
    if (at !== -1) this.#idle.splice(at, 1);
    return session.close();
  }

  async #opened<T extends { close(): Promise<void> }>(open: () => Promise<T>): Promise<T> {
    const closed = (): OperatingError =>
      new OperatingError("shutting_down", "never", "the target was closed");
    if (this.#closed !== undefined) throw closed();
    const opened = await open();
    if (this.#closed === undefined) return opened;
    await opened.close();
    throw closed();
  }

  #unsupported(what: string): OperatingError {
    return new OperatingError("unsupported", "never", `${this.kind} has ${what}`);
  }
}
