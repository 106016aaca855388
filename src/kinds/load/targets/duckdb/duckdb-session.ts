/**
 * One connection of DuckDB. Its statements run on libuv's threads and DuckDB's own, not on ours.
 * Rules: DK6.
 */
import {
  type DuckDBConnection,
  type DuckDBMaterializedResult,
  type DuckDBPreparedStatement,
  DuckDBTimestampValue,
  ResultReturnType,
  StatementType,
} from "@duckdb/node-api";
import { type Clock, waitAtMost } from "../../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { refusedTargetSql, targetSqlProblem } from "../../core/check-target-sql.ts";
import type {
  Operation,
  OperationStatement,
  ParameterType,
  ParameterValue,
} from "../../core/operation.ts";
import type { Done } from "../../core/target.ts";
import { badSql, typedParameters } from "../session/bad-sql.ts";
import type { DriverSession, Row } from "../session/driver-session.ts";
import { runSteps, type Steps } from "../session/run-steps.ts";
import { duckdbError, duckdbFailureOf } from "./duckdb-failure.ts";

interface DuckdbStatement {
  readonly prepared: DuckDBPreparedStatement;
  readonly parameters: readonly { readonly index: number; readonly type: ParameterType }[];
}

type DuckdbPlan = Steps<DuckdbStatement>;

const interruptEveryMs = 10;

export class DuckdbSession implements DriverSession<DuckdbPlan> {
  readonly #connection: DuckDBConnection;
  readonly #clock: Clock;
  readonly #words = new Map<string, Promise<DuckdbStatement>>();
  #running: Promise<unknown> | undefined;
  #closed: Promise<void> | undefined;

  constructor(connection: DuckDBConnection, clock: Clock) {
    this.#connection = connection;
    this.#clock = clock;
  }

  async prepare(operation: Operation): Promise<DuckdbPlan> {
    const statements: DuckdbStatement[] = [];
    for (const statement of operation.statements) {
      statements.push(await this.#prepareOf(operation, statement));
    }
    if (!operation.isTransaction) return { statements, rollback: undefined };
    return {
      statements: [await this.#word("BEGIN"), ...statements, await this.#word("COMMIT")],
      rollback: await this.#word("ROLLBACK"),
    };
  }

  start(plan: DuckdbPlan, values: readonly ParameterValue[], answer: Done): void {
    runSteps(
      plan,
      (statement, answered) => this.#runStatement(statement, values, answered),
      answer,
    );
  }

  async run(sql: string, values: readonly ParameterValue[]): Promise<readonly Row[]> {
    try {
      const prepared = await this.#prepare(sql);
      if (this.#closed !== undefined) throw new OperatingError("cancelled", "never", "closed");
      if (prepared.parameterCount !== values.length) {
        const message = `${values.length} values for ${prepared.parameterCount} parameters`;
        throw new OperatingError("bad_request", "never", message);
      }
      for (const [at, value] of values.entries()) bindValue(prepared, at + 1, value, undefined);
      const result = await this.#watch(prepared.run());
      return (await result.getRowsJS()).map((row) => row.map(jsonOf));
    } catch (thrown) {
      throw duckdbError(thrown);
    }
  }

  /** A connection within the process is not lost. */
  onLost(): void {}

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    let isOver = false;
    const over = (this.#running ?? Promise.resolve()).then(() => {
      isOver = true;
    });
    // What has not begun yet does not hear the interrupt: again.
    while (!isOver) {
      this.#connection.interrupt();
      await waitAtMost(this.#clock, interruptEveryMs, over);
    }
    this.#connection.closeSync();
  }

  #runStatement(
    { prepared, parameters }: DuckdbStatement,
    values: readonly ParameterValue[],
    answer: Done,
  ): void {
    if (this.#closed !== undefined) return;
    let at = 0;
    for (const { index, type } of parameters) {
      at += 1;
      bindValue(prepared, at, values[index] ?? null, type);
    }
    this.#watch(prepared.run()).then(
      (result) => answer(undefined, rowCountOf(result)),
      (thrown: unknown) => answer(duckdbFailureOf(thrown), 0),
    );
  }

  /** So that closing waits for it. */
  #watch<T>(run: Promise<T>): Promise<T> {
    this.#running = run.catch(() => undefined);
    return run;
  }

  #word(word: string): Promise<DuckdbStatement> {
    let prepared = this.#words.get(word);
    if (prepared === undefined) {
      prepared = this.#connection
        .prepare(word)
        .then((made) => ({ prepared: made, parameters: [] }));
      this.#words.set(word, prepared);
    }
    return prepared;
  }

  /** DK6 */
  async #prepare(sql: string): Promise<DuckDBPreparedStatement> {
    const problem = targetSqlProblem("duckdb", sql);
    if (problem !== undefined) throw refusedTargetSql("duckdb", problem);
    const prepared = await this.#watch(this.#connection.prepare(sql));
    if (typesAllowed.has(prepared.statementType) || /^\s*checkpoint\b/i.test(sql)) return prepared;
    throw refusedTargetSql("duckdb", "a load test of DuckDB does not run this kind of statement");
  }

  async #prepareOf(operation: Operation, statement: OperationStatement): Promise<DuckdbStatement> {
    const sql = statement.texts.reduce((before, text, index) => `${before}$${index}${text}`);
    const prepared = await this.#prepare(sql).catch((thrown: unknown) => {
      throw badSql(operation, statement, duckdbError(thrown).message);
    });
    return { prepared, parameters: typedParameters(operation, statement) };
  }
}

const typesAllowed: ReadonlySet<StatementType> = new Set([
  ...[StatementType.SELECT, StatementType.INSERT, StatementType.UPDATE, StatementType.DELETE],
  ...[StatementType.MERGE_INTO, StatementType.CREATE, StatementType.CREATE_FUNC],
  ...[StatementType.ALTER, StatementType.DROP, StatementType.TRANSACTION],
  ...[StatementType.ANALYZE, StatementType.VACUUM, StatementType.EXPLAIN],
]);

function bindValue(
  prepared: DuckDBPreparedStatement,
  at: number,
  value: ParameterValue,
  type: ParameterType | undefined,
): void {
  switch (typeof value) {
    case "string":
      prepared.bindVarchar(at, value);
      return;
    case "boolean":
      prepared.bindBoolean(at, value);
      return;
    case "bigint":
      prepared.bindBigInt(at, value);
      return;
    case "number":
      if (type === "timestamp") {
        prepared.bindTimestamp(at, new DuckDBTimestampValue(BigInt(Math.round(value * 1000))));
      } else if (type !== "double" && Number.isSafeInteger(value)) {
        prepared.bindBigInt(at, BigInt(value));
      } else {
        prepared.bindDouble(at, value);
      }
      return;
    default:
      prepared.bindNull(at);
  }
}

function rowCountOf(result: DuckDBMaterializedResult): number {
  return result.returnType === ResultReturnType.QUERY_RESULT ? result.rowCount : result.rowsChanged;
}

/** What JSON has exactly becomes that, everything else text. */
function jsonOf(value: unknown): unknown {
  if (typeof value === "bigint") {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : String(value);
  }
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (value instanceof Date) return value.toISOString();
  return value;
}
