/** This side of a connection's thread. */
import { Worker } from "node:worker_threads";
import { type Clock, sleep } from "../../../../ground/kernel/clock.ts";
import { decodeError } from "../../../../ground/kernel/error-codec.ts";
import { assert, messageOf, OperatingError } from "../../../../ground/kernel/errors.ts";
import { siblingModule } from "../../../../ground/kernel/node/sibling-module.ts";
import { refusedTargetSql, targetSqlProblem } from "../../core/check-target-sql.ts";
import type { Operation, ParameterValue } from "../../core/operation.ts";
import type { Done, OperationFailure } from "../../core/target.ts";
import { badSql } from "../session/bad-sql.ts";
import type { DriverSession, Row } from "../session/driver-session.ts";
import type { Execution, FromThread, SqliteThreadOptions, ToThread } from "./thread-messages.ts";

/** How long closing waits for a statement that computes: SQLite's client here cannot interrupt one. */
const closeMsMax = 2000;
const codeRangeSizeMb = 16;
/** NOMEM, TOOBIG. */
const memoryCodes: ReadonlySet<string> = new Set(["7", "18"]);

interface Waiting {
  resolve(message: FromThread): void;
  reject(error: OperatingError): void;
}

export class SqliteSession implements DriverSession<number> {
  readonly #thread: Worker;
  readonly #clock: Clock;
  readonly #waiting = new Map<number, Waiting>();
  readonly #answers: Done[] = [];
  readonly #opened = Promise.withResolvers<void>();
  #batch: Execution[] = [];
  #idNext = 1;
  #lost: OperationFailure | undefined;
  #onLost: ((failure: OperationFailure) => void) | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: SqliteThreadOptions, clock: Clock) {
    this.#clock = clock;
    this.#thread = new Worker(siblingModule(import.meta.url, "./sqlite-thread"), {
      workerData: options,
      resourceLimits: { codeRangeSizeMb }, // Otherwise V8 reserves half a gigabyte for each.
    });
    this.#thread.on("message", (message: FromThread) => this.#receive(message));
    this.#thread.on("error", (thrown) => this.#lose(messageOf(thrown)));
    this.#thread.on("exit", () => this.#lose("its thread ended"));
  }

  /** Rejects with `target_refused`, or `target_unreachable` while somebody has the file locked. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  async prepare(operation: Operation): Promise<number> {
    for (const statement of operation.statements) {
      const problem = targetSqlProblem("sqlite", statement.texts.join("?"));
      if (problem !== undefined) throw badSql(operation, statement, problem);
    }
    const id = this.#id();
    const statements = operation.statements.map(({ texts, parameters }) => ({
      sql: texts.join("?"),
      parameters: parameters.map((index) => ({
        index,
        type: operation.parameters[index]?.type ?? ("text" as const),
      })),
    }));
    const { isTransaction } = operation;
    const answer = await this.#ask({ kind: "prepare", id, statements, isTransaction });
    if (answer.kind === "prepared") return id;
    assert(answer.kind === "refused", "a preparation is answered");
    const statement = operation.statements[answer.statement];
    assert(statement !== undefined, "a statement of the operation was refused");
    throw badSql(operation, statement, answer.message);
  }

  start(plan: number, values: readonly ParameterValue[], answer: Done): void {
    if (this.#closed !== undefined) return;
    this.#answers.push(answer);
    this.#batch.push([plan, values]);
    if (this.#batch.length === 1) queueMicrotask(() => this.#flush());
  }

  async run(sql: string, values: readonly ParameterValue[]): Promise<readonly Row[]> {
    const problem = targetSqlProblem("sqlite", sql);
    if (problem !== undefined) throw refusedTargetSql("sqlite", problem);
    const answer = await this.#ask({ kind: "run", id: this.#id(), sql, values });
    if (answer.kind === "rows") return answer.rows;
    assert(answer.kind === "failed", "a statement is answered");
    const { kind, message } = answer.failure;
    if (answer.isSyntax) throw new OperatingError("bad_sql", "never", message);
    if (memoryCodes.has(answer.failure.code)) {
      throw new OperatingError("statement_too_large", "never", message);
    }
    const isPassing = kind === "timeout" || kind === "serialization";
    throw new OperatingError("query_failed", isPassing ? "backoff" : "never", message);
  }

  onLost(listener: (failure: OperationFailure) => void): void {
    this.#onLost = listener;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#rejectAll("the connection was closed");
    const patience = new AbortController();
    // Ends it between two rows, and in a wait for a lock; what was open is rolled back.
    const ended = this.#thread.terminate().then(() => patience.abort());
    await Promise.race([ended, sleep(this.#clock, closeMsMax, patience.signal)]);
    this.#thread.unref();
  }

  #flush(): void {
    if (this.#closed !== undefined) return;
    const batch = this.#batch;
    this.#batch = [];
    this.#send({ kind: "execute", batch });
  }

  #receive(message: FromThread): void {
    switch (message.kind) {
      case "ready":
        this.#opened.resolve();
        return;
      case "unopened":
        this.#opened.reject(decodeError(message.error));
        return;
      case "done":
        this.#answers.shift()?.(message.failure, message.rowCount);
        return;
      default:
        this.#waiting.get(message.id)?.resolve(message);
        this.#waiting.delete(message.id);
    }
  }

  #id(): number {
    const id = this.#idNext;
    this.#idNext += 1;
    return id;
  }

  #ask(message: ToThread & { readonly id: number }): Promise<FromThread> {
    if (this.#lost !== undefined || this.#closed !== undefined) {
      return Promise.reject(lost(this.#lost?.message ?? "it was closed"));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.set(message.id, { resolve, reject });
      this.#send(message);
    });
  }

  #send(message: ToThread): void {
    this.#thread.postMessage(message);
  }

  #lose(message: string): void {
    this.#opened.reject(lost(message));
    if (this.#lost !== undefined || this.#closed !== undefined) return;
    this.#lost = { kind: "connection", code: "lost", message };
    this.#rejectAll(message);
    this.#onLost?.(this.#lost);
  }

  #rejectAll(message: string): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(lost(message));
  }
}

function lost(message: string): OperatingError {
  return new OperatingError("target_unreachable", "backoff", `the connection is lost: ${message}`);
}
