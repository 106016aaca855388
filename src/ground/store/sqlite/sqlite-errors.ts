/** Translates SQLite's result codes: https://www.sqlite.org/rescode.html */
import { AssertionError, messageOf, OperatingError } from "../../kernel/errors.ts";

const busy = 5;
const locked = 6;
const readOnly = 8;
const ioError = 10;
const corrupt = 11;
const full = 13;
const cannotOpen = 14;
const constraint = 19;
const notADatabase = 26;

const constraintCheck = 275;
const constraintForeignKey = 787;
const constraintNotNull = 1299;
const constraintPrimaryKey = 1555;
const constraintTrigger = 1811; // A RESTRICT action failed.
const constraintUnique = 2067;

/** Another process holds the lock. The whole transaction may be tried again. */
export class SqliteBusy extends OperatingError {
  constructor(path: string, cause: unknown) {
    super("store_busy", "backoff", `the store ${path} is busy: another process holds its lock`, {
      cause,
      hint: "It can be read meanwhile. A process that was stopped in the middle of a write holds the lock until it goes on or ends.",
    });
  }
}

/** The error to throw instead of what `node:sqlite` threw. */
export function translateSqliteError(thrown: unknown, path: string): Error {
  const code = resultCodeOf(thrown);
  if (code === undefined) return thrown instanceof Error ? thrown : new Error(String(thrown));
  const text = messageOf(thrown);
  const options = { cause: thrown };
  switch (code & 0xff) {
    case busy:
    case locked:
      return new SqliteBusy(path, thrown);
    case full:
      return new OperatingError("disk_full", "backoff", `no space left to write to ${path}`, {
        ...options,
        hint: "free some space on its disk; nothing that was committed is lost",
      });
    case readOnly:
    case cannotOpen:
      return new OperatingError("store_unavailable", "never", `cannot open ${path}: ${text}`, {
        ...options,
        hint: "the file and its directory must exist and be writable",
      });
    case ioError:
      return new OperatingError("store_unavailable", "backoff", `${path}: ${text}`, {
        ...options,
        hint: "the disk refused to read or write; it may be full or failing",
      });
    case corrupt:
    case notADatabase:
      return new OperatingError("store_corrupt", "never", `${path}: ${text}`, {
        ...options,
        hint: "it is not a Capstan store, or it is damaged: restore a backup or choose another path",
      });
    case constraint:
      return constraintError(code, text, options);
    default:
      return new AssertionError(`SQLite error ${code}: ${text}`);
  }
}

function constraintError(code: number, text: string, options: { cause: unknown }): Error {
  switch (code) {
    case constraintPrimaryKey:
    case constraintUnique:
      return new OperatingError("already_exists", "never", text, options);
    case constraintForeignKey:
    case constraintTrigger:
      return new OperatingError("reference_violated", "never", text, options);
    case constraintCheck:
    case constraintNotNull:
      return new OperatingError("bad_request", "never", text, options);
    default:
      return new AssertionError(`SQLite constraint ${code}: ${text}`);
  }
}

/** Undefined when SQLite did not throw it. */
function resultCodeOf(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error) || !("errcode" in thrown)) return undefined;
  return typeof thrown.errcode === "number" ? thrown.errcode : undefined;
}
