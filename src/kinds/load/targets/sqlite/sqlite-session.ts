/** This side of a connection's thread. */
import "../../core/error-codes.ts";
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { assert, OperatingError } from "../../../../ground/kernel/errors.ts";
import { siblingModule } from "../../../../ground/kernel/node/sibling-module.ts";
import { type Peer, startThread } from "../../../../ground/threads/index.ts";
import { refusedTargetSql, targetSqlProblem } from "../../core/check-target-sql.ts";
import type { Operation, ParameterValue } from "../../core/operation.ts";
import type { Done, OperationFailure } from "../../core/target.ts";
import { badSql, typedParameters } from "../session/bad-sql.ts";
import type { DriverSession, Row } from "../session/driver-session.ts";
import type {
  Execution,
  SqliteOwner,
  SqliteThread,
  SqliteThreadOptions,
} from "./thread-messages.ts";

const codeRangeSizeMb = 16;

export class SqliteSession implements DriverSession<number> {
  readonly #thread: Peer<SqliteThread, SqliteOwner>;
  readonly #answers: Done[] = [];
  #batch: Execution[] = [];
  #planNext = 1;

  constructor(options: SqliteThreadOptions, clock: Clock) {
    this.#thread = startThread<SqliteThread, SqliteOwner>({
      module: siblingModule(import.meta.url, "./sqlite-thread"),
      options,
      clock,
      lost: (cause) => (cause instanceof OperatingError ? cause : lost(cause.message)),
      handlers: {
        requests: {},
        notes: {
          done: (outcome) => {
            const answer = this.#answers.shift();
            if (typeof outcome === "number") answer?.(undefined, outcome);
            else answer?.(outcome, 0);
          },
        },
      },
      // Otherwise V8 reserves half a gigabyte for each.
      worker: { resourceLimits: { codeRangeSizeMb } },
    });
  }

  /** Rejects with `target_refused`. */
  get opened(): Promise<void> {
    return this.#thread.ready;
  }

  async prepare(operation: Operation): Promise<number> {
    for (const statement of operation.statements) {
      const problem = targetSqlProblem("sqlite", statement.texts.join("?"));
      if (problem !== undefined) throw badSql(operation, statement, problem);
    }
    const plan = this.#planNext;
    this.#planNext += 1;
    const statements = operation.statements.map((statement) => ({
      sql: statement.texts.join("?"),
      parameters: typedParameters(operation, statement),
    }));
    const { isTransaction } = operation;
    const refused = await this.#thread.ask("prepare", { plan, statements, isTransaction });
    if (refused === undefined) return plan;
    const statement = operation.statements[refused.statement];
    assert(statement !== undefined, "a statement of the operation was refused");
    throw badSql(operation, statement, refused.message);
  }

  start(plan: number, values: readonly ParameterValue[], answer: Done): void {
    this.#answers.push(answer);
    this.#batch.push([plan, values]);
    if (this.#batch.length === 1) queueMicrotask(() => this.#flush());
  }

  async run(sql: string, values: readonly ParameterValue[]): Promise<readonly Row[]> {
    const problem = targetSqlProblem("sqlite", sql);
    if (problem !== undefined) throw refusedTargetSql("sqlite", problem);
    return await this.#thread.ask("run", { sql, values });
  }

  onLost(listener: (failure: OperationFailure) => void): void {
    void this.#thread.failure.then(({ message }) =>
      listener({ kind: "connection", code: "lost", message }),
    );
  }

  /** Ends it between two rows, and in a wait for a lock; what was open is rolled back. */
  close(): Promise<void> {
    return this.#thread.kill(lost("it was closed"));
  }

  #flush(): void {
    const batch = this.#batch;
    this.#batch = [];
    this.#thread.tell("execute", batch);
  }
}

function lost(message: string): OperatingError {
  return new OperatingError("target_unreachable", "backoff", `the connection is lost: ${message}`);
}
