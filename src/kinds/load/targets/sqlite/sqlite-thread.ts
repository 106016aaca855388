/** One connection of SQLite in a thread of its own: it may block as long as it likes. */

import "../../core/error-codes.ts";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { backoffMs } from "../../../../ground/kernel/backoff.ts";
import { assert, messageOf, OperatingError } from "../../../../ground/kernel/errors.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { servePeer } from "../../../../ground/threads/index.ts";
import type { ParameterType, ParameterValue } from "../../core/operation.ts";
import type { OperationFailure } from "../../core/target.ts";
import { isBusy, isSyntax, sqliteFailureOf } from "./sqlite-failure.ts";
import { closeIn } from "./sqlite-wall.ts";
import type {
  Execution,
  PlanRequest,
  RefusedStatement,
  SqliteOwner,
  SqliteThread,
  SqliteThreadOptions,
  StatementRequest,
} from "./thread-messages.ts";

interface PreparedStatement {
  readonly prepared: StatementSync;
  readonly hasRows: boolean;
  readonly parameters: StatementRequest["parameters"];
}

interface Plan {
  readonly statements: readonly PreparedStatement[];
  /** How its transaction begins, if it is one. */
  readonly begin: string | undefined;
}

const never = new Int32Array(new SharedArrayBuffer(4));
const busyPause = { minMs: 1, maxMs: 25 };
/** NOMEM, TOOBIG. */
const memoryCodes: ReadonlySet<string> = new Set(["7", "18"]);
const plans = new Map<number, Plan>();
let busyMsMax = 0;

servePeer<SqliteThread, SqliteThreadOptions, SqliteOwner>((options, owner) => {
  const database = open(options);
  return {
    requests: {
      prepare: (request) => prepare(database, request),
      run: ({ sql, values }) => run(database, sql, values),
    },
    notes: {
      execute: (batch) => {
        for (const execution of batch) owner.tell("done", execute(database, execution));
      },
    },
  };
});

/**
 * Waits for a lock here and not within SQLite, whose own wait nobody can end before its time. In a
 * transaction it does not wait: others may be waiting for what it has.
 */
function patiently<T>(database: DatabaseSync, run: () => T): T {
  const giveUpAtMs = realClock.nowMs() + busyMsMax;
  for (let failures = 1; ; failures += 1) {
    try {
      return run();
    } catch (thrown) {
      const restMs = giveUpAtMs - realClock.nowMs();
      if (!isBusy(thrown) || database.isTransaction || restMs <= 0) throw thrown;
      Atomics.wait(never, 0, 0, Math.min(backoffMs(busyPause, failures), restMs));
    }
  }
}

function open(options: SqliteThreadOptions): DatabaseSync {
  const { path, synchronous, valueBytesMax } = options;
  busyMsMax = options.busyMsMax;
  try {
    const database = new DatabaseSync(path, { timeout: 0, limits: { length: valueBytesMax } });
    patiently(database, () => database.exec("PRAGMA journal_mode = WAL"));
    database.exec(`PRAGMA synchronous = ${synchronous}`);
    closeIn(database); // SL5
    return database;
  } catch (thrown) {
    throw new OperatingError("target_refused", "never", messageOf(thrown));
  }
}

function prepareStatement(database: DatabaseSync, request: StatementRequest): PreparedStatement {
  const prepared = patiently(database, () => database.prepare(request.sql));
  prepared.setReadBigInts(true); // Otherwise whole numbers beyond 2^53 fail.
  prepared.setReturnArrays(true);
  return { prepared, hasRows: prepared.columns().length > 0, parameters: request.parameters };
}

function prepare(
  database: DatabaseSync,
  { plan, statements, isTransaction }: PlanRequest,
): RefusedStatement | undefined {
  const made: PreparedStatement[] = [];
  for (const request of statements) {
    try {
      made.push(prepareStatement(database, request));
    } catch (thrown) {
      return { statement: made.length, message: messageOf(thrown) };
    }
  }
  // A transaction that reads first and writes then could not wait for the lock any more.
  const isRead = statements.every(({ sql }) => /^\s*(select|values)\b/i.test(sql));
  const begin = isRead ? "BEGIN" : "BEGIN IMMEDIATE";
  plans.set(plan, { statements: made, begin: isTransaction ? begin : undefined });
  return undefined;
}

function execute(database: DatabaseSync, [planId, values]: Execution): number | OperationFailure {
  const plan = plans.get(planId);
  assert(plan !== undefined, "an operation is prepared before it is executed");
  const { statements, begin } = plan;
  try {
    if (begin !== undefined) patiently(database, () => database.exec(begin));
    let rowCount = 0;
    for (const statement of statements) {
      rowCount += patiently(database, () => runStatement(statement, values));
    }
    if (begin !== undefined) patiently(database, () => database.exec("COMMIT"));
    return rowCount;
  } catch (thrown) {
    const isInTransaction = database.isTransaction;
    if (isInTransaction && begin !== undefined) database.exec("ROLLBACK");
    return sqliteFailureOf(thrown, { isInTransaction });
  }
}

function runStatement(
  { prepared, hasRows, parameters }: PreparedStatement,
  values: readonly ParameterValue[],
): number {
  const bound = parameters.map(({ index, type }) => inputOf(values[index] ?? null, type));
  if (!hasRows) return Number(prepared.run(...bound).changes);
  let rowCount = 0;
  for (const _ of prepared.iterate(...bound)) rowCount += 1; // Without keeping them.
  return rowCount;
}

function run(
  database: DatabaseSync,
  sql: string,
  values: readonly ParameterValue[],
): readonly (readonly unknown[])[] {
  try {
    const { prepared, hasRows } = prepareStatement(database, { sql, parameters: [] });
    const bound = values.map((value) => inputOf(value, undefined));
    const rows = patiently(database, (): unknown[] => {
      if (hasRows) return [...prepared.iterate(...bound)];
      prepared.run(...bound);
      return [];
    });
    return rows.map((row) => (row as unknown[]).map(jsonOf));
  } catch (thrown) {
    throw errorOf(thrown, database.isTransaction);
  }
}

function errorOf(thrown: unknown, isInTransaction: boolean): OperatingError {
  if (isSyntax(thrown)) return new OperatingError("bad_sql", "never", messageOf(thrown));
  const { kind, code, message } = sqliteFailureOf(thrown, { isInTransaction });
  if (memoryCodes.has(code)) return new OperatingError("statement_too_large", "never", message);
  const isPassing = kind === "timeout" || kind === "serialization";
  return new OperatingError("query_failed", isPassing ? "backoff" : "never", message);
}

/** A whole number is an INTEGER, not a REAL that looks like one. */
function inputOf(value: ParameterValue, type: ParameterType | undefined): SQLInputValue {
  if (typeof value === "boolean") return value ? 1n : 0n;
  if (typeof value !== "number" || type === "double") return value;
  return Number.isSafeInteger(value) ? BigInt(value) : value;
}

function jsonOf(value: unknown): unknown {
  if (typeof value === "bigint") {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : String(value);
  }
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value;
}
