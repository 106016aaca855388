/**
 * A `Target` over sessions of a library: connections for load, and a few sessions beside them for
 * everything else.
 */
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
import type { DriverSession, Row } from "./driver-session.ts";
import { QueuedConnection } from "./queued-connection.ts";

export type RunQuery = (sql: string, values?: readonly ParameterValue[]) => Promise<readonly Row[]>;

export interface TargetKind<Plan> {
  readonly kind: string;
  readonly capabilities: TargetCapabilities;
  /** For messages: no password in it. */
  readonly place: string;
  readonly connectMsMax: number;
  /**
   * Rejects with an `OperatingError`. A session that nobody waits for any more is closed by the
   * caller.
   */
  open(): Promise<DriverSession<Plan>>;
  pollServer?(run: RunQuery): Promise<ServerPoll>;
  statementFigures?(run: RunQuery): Promise<readonly StatementFigures[]>;
  /** After all sessions are closed. */
  close?(): Promise<void>;
}

const idleSessionsMax = 2;

export class SessionTarget<Plan> implements Target {
  readonly kind: string;
  readonly capabilities: TargetCapabilities;
  readonly #of: TargetKind<Plan>;
  readonly #clock: Clock;
  readonly #connections = new Set<TargetConnection>();
  readonly #sessions = new Set<DriverSession<Plan>>();
  readonly #idle: DriverSession<Plan>[] = [];
  #closed: Promise<void> | undefined;

  constructor(of: TargetKind<Plan>, clock: Clock) {
    this.kind = of.kind;
    this.capabilities = of.capabilities;
    this.#of = of;
    this.#clock = clock;
  }

  async connect(depth: number, signal: AbortSignal): Promise<TargetConnection> {
    assert(depth >= 1 && depth <= this.capabilities.depthMax, `a depth of ${depth}`);
    const session = await this.#open(signal);
    const connection: TargetConnection = new QueuedConnection(session, depth, () =>
      this.#connections.delete(connection),
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

  async #takeSession(signal: AbortSignal): Promise<DriverSession<Plan>> {
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    const session = await this.#open(signal);
    this.#sessions.add(session);
    session.onLost(() => void this.#drop(session));
    return session;
  }

  async #giveBack(session: DriverSession<Plan>): Promise<void> {
    if (!this.#sessions.has(session)) return;
    if (this.#idle.length < idleSessionsMax && this.#closed === undefined) this.#idle.push(session);
    else await this.#drop(session);
  }

  #drop(session: DriverSession<Plan>): Promise<void> {
    this.#sessions.delete(session);
    const at = this.#idle.indexOf(session);
    if (at !== -1) this.#idle.splice(at, 1);
    return session.close();
  }

  async #open(signal: AbortSignal): Promise<DriverSession<Plan>> {
    const { place, connectMsMax } = this.#of;
    if (this.#closed !== undefined) throw closedTarget();
    if (signal.aborted) throw new OperatingError("cancelled", "never", `connecting to ${place}`);
    const givenUp = Promise.withResolvers<never>();
    const abort = (): void =>
      givenUp.reject(new OperatingError("cancelled", "never", `connecting to ${place}`));
    signal.addEventListener("abort", abort, { once: true });
    const timer = this.#clock.after(connectMsMax, () => {
      const message = `${place}: no answer in ${connectMsMax} ms`;
      givenUp.reject(new OperatingError("target_unreachable", "backoff", message));
    });
    const opening = this.#of.open();
    try {
      const session = await Promise.race([opening, givenUp.promise]);
      if (this.#closed === undefined) return session;
      await session.close();
      throw closedTarget();
    } catch (error) {
      // The session may still open later.
      void opening.then((session) => session.close()).catch(() => undefined);
      throw error;
    } finally {
      timer.cancel();
      signal.removeEventListener("abort", abort);
    }
  }

  #unsupported(what: string): OperatingError {
    return new OperatingError("unsupported", "never", `${this.kind} has ${what}`);
  }
}

function closedTarget(): OperatingError {
  return new OperatingError("shutting_down", "never", "the target was closed");
}
