/** One connection of mysql2. Statements are prepared by the server; numbers go with their types. */
import { connect as connectSocket } from "node:net";
import mysql, { type Connection, type PrepareStatementInfo } from "mysql2";
import type {
  Operation,
  OperationStatement,
  ParameterType,
  ParameterValue,
} from "../../core/operation.ts";
import type { Done, OperationFailure } from "../../core/target.ts";
import { guardedLookup } from "../guarded-lookup.ts";
import { badSql, typedParameters } from "../session/bad-sql.ts";
import type { DriverSession, Row } from "../session/driver-session.ts";
import { runSteps, type Steps } from "../session/run-steps.ts";
import { mysqlError, mysqlFailureOf, unopened } from "./mysql-failure.ts";
import { type MysqlAddress, mysqlPlace } from "./parse-mysql-url.ts";

type Callback = (error: unknown, result: unknown) => void;
type MysqlStatement = (values: readonly ParameterValue[], callback: Callback) => void;
type MysqlPlan = Steps<MysqlStatement>;

const killMsMax = 2000;

export class MysqlSession implements DriverSession<MysqlPlan> {
  readonly #connection: Connection;
  readonly #address: MysqlAddress;
  #inFlight = 0;
  /** Ends the wait of `run`. */
  #abandon: (() => void) | undefined;
  #lost: OperationFailure | undefined;
  #onLost: ((failure: OperationFailure) => void) | undefined;
  #closed: Promise<void> | undefined;

  constructor(connection: Connection, address: MysqlAddress) {
    this.#connection = connection;
    this.#address = address;
    connection.on("error", (error) => this.#lose(mysqlFailureOf(error)));
    connection.on("end", () => this.#lose(lostFailure));
  }

  async prepare(operation: Operation): Promise<MysqlPlan> {
    const statements: MysqlStatement[] = [];
    for (const statement of operation.statements) {
      statements.push(await this.#prepareOf(operation, statement));
    }
    if (!operation.isTransaction) return { statements, rollback: undefined };
    return {
      statements: [this.#word("BEGIN"), ...statements, this.#word("COMMIT")],
      rollback: this.#word("ROLLBACK"),
    };
  }

  start(plan: MysqlPlan, values: readonly ParameterValue[], answer: Done): void {
    runSteps(
      plan,
      (statement, answered) => {
        if (this.#closed !== undefined || this.#lost !== undefined) return;
        this.#inFlight += 1;
        statement(values, (error, result) => {
          this.#inFlight -= 1;
          if (error === null) {
            answered(undefined, rowCountOf(result));
            return;
          }
          const failure = mysqlFailureOf(error);
          if (failure.kind === "connection") this.#lose(failure);
          else answered(failure, 0);
        });
      },
      answer,
    );
  }

  async run(sql: string, values: readonly ParameterValue[]): Promise<readonly Row[]> {
    const answered = Promise.withResolvers<unknown>();
    if (this.#lost !== undefined) throw mysqlError({ ...this.#lost, fatal: true });
    this.#inFlight += 1;
    this.#abandon = () => answered.reject(mysqlError({ code: "closed", fatal: true }));
    const callback: Callback = (error, result) => {
      this.#inFlight -= 1;
      if (error === null) answered.resolve(result);
      else answered.reject(mysqlError(error));
    };
    // Not everything can be prepared.
    if (values.length === 0) this.#connection.query(sql, callback);
    else
      this.#connection.execute(
        sql,
        values.map((value) => inputOf(value, undefined)) as string[],
        callback,
      );
    const result = await answered.promise.finally(() => {
      this.#abandon = undefined;
    });
    return Array.isArray(result) ? (result as Row[]) : [];
  }

  onLost(listener: (failure: OperationFailure) => void): void {
    this.#onLost = listener;
    const lost = this.#lost;
    if (lost !== undefined) queueMicrotask(() => listener(lost));
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#abandon?.();
    const isBusy = this.#inFlight > 0 && this.#lost === undefined;
    if (isBusy) await this.#kill();
    this.#connection.destroy();
  }

  /** What the server does for us, it would do to the end. Best effort. */
  async #kill(): Promise<void> {
    const { threadId } = this.#connection;
    const other = connect({ ...this.#address, connectMsMax: killMsMax });
    const asked = Promise.withResolvers<void>();
    other.on("error", () => asked.resolve());
    other.query({ sql: `KILL ${threadId}`, timeout: killMsMax }, () => asked.resolve());
    await asked.promise;
    other.destroy();
  }

  #lose(failure: OperationFailure): void {
    if (this.#lost !== undefined || this.#closed !== undefined) return;
    this.#lost = { ...failure, kind: "connection" };
    this.#onLost?.(this.#lost);
  }

  #word(word: string): MysqlStatement {
    return (_, callback) => this.#connection.query(word, callback);
  }

  async #prepareOf(operation: Operation, statement: OperationStatement): Promise<MysqlStatement> {
    const prepared = Promise.withResolvers<PrepareStatementInfo>();
    this.#connection.prepare(statement.texts.join("?"), (error, info) => {
      if (error === null) prepared.resolve(info);
      else prepared.reject(error);
    });
    const info = await prepared.promise.catch((error: unknown) => {
      const failure = mysqlError(error);
      // While it is prepared every refusal is about the text.
      if (failure.code === "target_unreachable") throw failure;
      throw badSql(operation, statement, error instanceof Error ? error.message : "refused");
    });
    const parameters = typedParameters(operation, statement);
    return (values, callback) => {
      info.execute(
        parameters.map(({ index, type }) => inputOf(values[index] ?? null, type)),
        callback,
      );
    };
  }
}

const lostFailure: OperationFailure = {
  kind: "connection",
  code: "lost",
  message: "the server closed the connection",
};

export async function openMysqlSession(address: MysqlAddress): Promise<MysqlSession> {
  const connection = connect(address);
  const connected = Promise.withResolvers<void>();
  connection.on("error", (error) => connected.reject(error));
  connection.connect((error) => {
    if (error === null) connected.resolve();
    else connected.reject(error);
  });
  try {
    await connected.promise;
  } catch (error) {
    connection.destroy();
    throw unopened(mysqlPlace(address), error);
  }
  return new MysqlSession(connection, address);
}

function connect(address: MysqlAddress): Connection {
  const { host, port, socketPath, user, password, database, sslMode, connectMsMax } = address;
  return mysql.createConnection({
    ...(socketPath === undefined
      ? {
          host,
          port,
          stream: () =>
            connectSocket({ host, port, lookup: guardedLookup, noDelay: true, keepAlive: true }),
        }
      : { socketPath }),
    flags: ["-LOCAL_FILES"], // No server reads a file of this machine (LOAD DATA LOCAL). MY7.
    user,
    password,
    database,
    ...(sslMode === "disable" ? {} : { ssl: { rejectUnauthorized: sslMode === "verify" } }),
    connectTimeout: connectMsMax,
    rowsAsArray: true,
    dateStrings: true,
    supportBigNumbers: true, // Beyond 2^53 as text.
    timezone: "Z",
  });
}

/**
 * Without a type of its own a whole number would go as a double, which LIMIT refuses and an index
 * may not serve.
 */
function inputOf(value: ParameterValue, type: ParameterType | undefined): unknown {
  if (typeof value === "bigint") return mysql.TypedParameter.LONGLONG(value);
  if (type === "timestamp") return momentOf(value);
  if (typeof value !== "number" || type === "double") return value;
  return Number.isSafeInteger(value) ? mysql.TypedParameter.LONGLONG(value) : value;
}

/** The server takes no `T` and no `Z`. */
function momentOf(value: ParameterValue): unknown {
  if (typeof value === "number") return new Date(value);
  return typeof value === "string" && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)
    ? new Date(value)
    : value;
}

function rowCountOf(result: unknown): number {
  if (Array.isArray(result)) return result.length;
  const { affectedRows } = (result ?? {}) as { readonly affectedRows?: number };
  return affectedRows ?? 0;
}
