/** What SQLite's codes mean. https://www.sqlite.org/rescode.html */

import type { FailureKind, OperationFailure } from "../../core/target.ts";

const error = 1;
const busy = 5;
const auth = 23;
const busySnapshot = 517;
const constraintTrigger = 1811;

const kinds: Readonly<Record<number, FailureKind>> = {
  3: "permission", // PERM
  6: "serialization", // LOCKED
  7: "resources", // NOMEM
  8: "permission", // READONLY
  9: "timeout", // INTERRUPT
  10: "resources", // IOERR
  13: "resources", // FULL
  14: "connection", // CANTOPEN
  18: "resources", // TOOBIG
  19: "constraint",
  23: "permission", // AUTH
};

interface SqliteError extends Error {
  readonly errcode: number;
  readonly errstr: string;
}

function isSqliteError(thrown: unknown): thrown is SqliteError {
  return thrown instanceof Error && "errcode" in thrown && "errstr" in thrown;
}

export function isBusy(thrown: unknown): boolean {
  return isSqliteError(thrown) && thrown.errcode === busy;
}

/** Also what SL5 does not let through. */
export function isSyntax(thrown: unknown): boolean {
  return isSqliteError(thrown) && (thrown.errcode === error || thrown.errcode === auth);
}

/**
 * A lock that was not free in time is a `timeout`; one that a transaction may not wait for, since
 * others wait for it, is a `serialization` failure. Only constraints' messages are shown, which
 * have names in them and no values; what triggers raise may have.
 */
export function sqliteFailureOf(
  thrown: unknown,
  options: { readonly isInTransaction: boolean },
): OperationFailure {
  if (!isSqliteError(thrown)) {
    return { kind: "other", code: "client", message: "refused by the client of SQLite" };
  }
  const { errcode, errstr, message } = thrown;
  const primary = errcode & 0xff;
  const code = String(errcode);
  if (primary === busy) {
    const mayNotWait = options.isInTransaction || errcode === busySnapshot;
    return { kind: mayNotWait ? "serialization" : "timeout", code, message: errstr };
  }
  const kind = kinds[primary] ?? "other";
  const isNamed = kind === "constraint" && errcode !== constraintTrigger;
  return { kind, code, message: isNamed ? message : errstr };
}
