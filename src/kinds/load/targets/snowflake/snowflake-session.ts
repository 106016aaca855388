/**
 * One session of snowflake-sdk. There are no prepared statements: an operation is described once,
 * and then sent as text with its values. No text that would transfer a file is sent (TX3).
 */
import type { Connection, RowStatement } from "snowflake-sdk";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { refusedTargetSql, targetSqlProblem } from "../../core/check-target-sql.ts";
import type { Operation, ParameterType, ParameterValue } from "../../core/operation.ts";
import type { Done, OperationFailure } from "../../core/target.ts";
import { badSql, typedParameters } from "../session/bad-sql.ts";
import type { DriverSession, Row } from "../session/driver-session.ts";
import { runSteps, type Steps } from "../session/run-steps.ts";
import { snowflakeError, snowflakeFailureOf } from "./snowflake-failure.ts";

interface SnowflakeStatement {
  readonly sql: string;
  readonly parameters: readonly { readonly index: number; readonly type: ParameterType }[];
}

type SnowflakePlan = Steps<SnowflakeStatement>;
type Bind = string | number | boolean | null;

interface Answered {
  readonly statement: RowStatement;
  readonly rows: readonly unknown[];
}

const word = (sql: string): SnowflakeStatement => ({ sql, parameters: [] });

export class SnowflakeSession implements DriverSession<SnowflakePlan> {
  readonly #connection: Connection;
  readonly #tag: Readonly<Record<string, string>>;
  readonly #underWay = new Set<RowStatement>();
  /** Ends the wait of `run`. */
  #abandon: (() => void) | undefined;
  #lost: OperationFailure | undefined;
  #onLost: ((failure: OperationFailure) => void) | undefined;
  #closed: Promise<void> | undefined;

  /** `tag` is what executions have as QUERY_TAG; what is `run` beside them has none. */
  constructor(connection: Connection, tag: string) {
    this.#connection = connection;
    this.#tag = { QUERY_TAG: tag };
  }

  async prepare(operation: Operation): Promise<SnowflakePlan> {
    const statements: SnowflakeStatement[] = [];
    for (const statement of operation.statements) {
      const sql = statement.texts.join("?");
      const parameters = typedParameters(operation, statement);
      const binds = parameters.map(({ type }) => sampleOf[type]);
      await this.#execute(sql, binds, { describeOnly: true }).catch((thrown: unknown) => {
        if (thrown instanceof OperatingError) throw badSql(operation, statement, thrown.message);
        const error = snowflakeError(thrown);
        if (error.code === "target_unreachable") throw error;
        throw badSql(operation, statement, thrown instanceof Error ? thrown.message : "refused");
      });
      statements.push({ sql, parameters });
    }
    if (!operation.isTransaction) return { statements, rollback: undefined };
    return {
      statements: [word("BEGIN"), ...statements, word("COMMIT")],
      rollback: word("ROLLBACK"),
    };
  }

  start(plan: SnowflakePlan, values: readonly ParameterValue[], answer: Done): void {
    runSteps(
      plan,
      ({ sql, parameters }, answered) => {
        if (this.#closed !== undefined || this.#lost !== undefined) return;
        const binds = parameters.map(({ index, type }) => bindOf(values[index] ?? null, type));
        // The client's own setting for the tag (3.3.0) does not reach the server.
        this.#execute(sql, binds, { parameters: this.#tag }).then(
          ({ statement }) => answered(undefined, rowCountOf(statement)),
          (thrown: unknown) => {
            const failure = snowflakeFailureOf(thrown);
            if (failure.kind === "connection") this.#lose(failure);
            else answered(failure, 0);
          },
        );
      },
      answer,
    );
  }

  /** Rows of SHOW have one value each, an object: the order of their columns is not promised. */
  async run(sql: string, values: readonly ParameterValue[]): Promise<readonly Row[]> {
    const abandoned = new Promise<never>((_, reject) => {
      this.#abandon = () => reject(snowflakeError({ code: 407002 }));
    });
    try {
      const binds = values.map((value) => bindOf(value, undefined));
      const executed = this.#execute(sql, binds, {});
      executed.catch(() => undefined); // It may outlive the wait.
      const { statement, rows } = await Promise.race([executed, abandoned]);
      if (!/^\s*show\b/i.test(sql)) return rows.map((row) => (row as unknown[]).map(jsonOf));
      const names = (statement.getColumns() ?? []).map((column) => column.getName());
      return rows.map((row) => [
        Object.fromEntries((row as unknown[]).map((value, at) => [names[at], jsonOf(value)])),
      ]);
    } catch (thrown) {
      throw thrown instanceof OperatingError ? thrown : snowflakeError(thrown);
    } finally {
      this.#abandon = undefined;
    }
  }

  onLost(listener: (failure: OperationFailure) => void): void {
    this.#onLost = listener;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#abandon?.();
    const isUp = this.#lost === undefined && this.#connection.isUp();
    if (!isUp) return;
    await Promise.all(
      [...this.#underWay].map(
        (statement) => new Promise<void>((resolve) => statement.cancel(() => resolve())),
      ),
    );
    await new Promise<void>((resolve) => this.#connection.destroy(() => resolve()));
  }

  #lose(failure: OperationFailure): void {
    if (this.#lost !== undefined || this.#closed !== undefined) return;
    this.#lost = failure;
    this.#onLost?.(failure);
  }

  #execute(
    sqlText: string,
    binds: readonly Bind[],
    options: {
      readonly describeOnly?: boolean;
      readonly parameters?: Readonly<Record<string, string>>;
    },
  ): Promise<Answered> {
    const problem = targetSqlProblem("snowflake", sqlText);
    if (problem !== undefined) return Promise.reject(refusedTargetSql("snowflake", problem));
    return new Promise((resolve, reject) => {
      const started = this.#connection.execute({
        sqlText,
        binds,
        rowMode: "array",
        ...options,
        complete: (error, statement, rows) => {
          this.#underWay.delete(started);
          if (error === undefined || error === null) resolve({ statement, rows: rows ?? [] });
          else reject(error);
        },
      });
      this.#underWay.add(started);
    });
  }
}

/** A value of each type, so that a description knows it. */
const sampleOf: Readonly<Record<ParameterType, Bind>> = {
  bigint: 1,
  double: 0.5,
  text: "",
  boolean: true,
  timestamp: "2000-01-01T00:00:00.000Z",
};

/** The client sends whole numbers as FIXED, which has no exponent, and cannot send a bigint. */
function bindOf(value: ParameterValue, type: ParameterType | undefined): Bind {
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "number") return value;
  if (type === "timestamp") return new Date(value).toISOString();
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? String(value) : value;
}

function rowCountOf(statement: RowStatement): number {
  const changed = statement.getNumUpdatedRows() ?? -1;
  return changed >= 0 ? changed : statement.getNumRows();
}

function jsonOf(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  return typeof value === "bigint" ? String(value) : value;
}
