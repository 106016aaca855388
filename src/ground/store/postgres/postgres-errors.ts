/**
 * Translates what `pg` throws. Codes:
 * https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
import pg from "pg";
import { AssertionError, messageOf, OperatingError } from "../../kernel/errors.ts";

/** Whether the connection is gone, so that the fate of the last statement is unknown. */
export function isConnectionLost(thrown: unknown): boolean {
  if (isOwnBug(thrown)) return false;
  // Sockets and timeouts give plain errors. Only the server's own answers are DatabaseErrors.
  if (!(thrown instanceof pg.DatabaseError)) return true;
  const code = thrown.code ?? "";
  return code.startsWith("08") || sessionEnded.has(code);
}

/** Shutdown, crash, startup, and the timeouts that end a session. */
const sessionEnded = new Set(["57P01", "57P02", "57P03", "57P05", "25P03", "25P04"]);

const readOnlyRefusal = "25006";

/** Whether this translated error is the server's refusal to write in a read transaction. */
export function isReadOnlyRefusal(error: unknown): boolean {
  const cause = error instanceof OperatingError ? error.cause : undefined;
  return cause instanceof pg.DatabaseError && cause.code === readOnlyRefusal;
}

/** The error to throw instead. `place` contains no password. */
export function translatePostgresError(thrown: unknown, place: string): Error {
  if (isOwnBug(thrown)) return thrown;
  const text = textOf(thrown);
  const options = { cause: thrown };
  if (isConnectionLost(thrown)) {
    return new OperatingError("store_unavailable", "backoff", `${place} does not answer: ${text}`, {
      ...options,
      hint: "is Postgres running and reachable at that address?",
    });
  }
  const code = (thrown as pg.DatabaseError).code ?? "";
  switch (code) {
    case "40001": // Serialization failure.
    case "40P01": // Deadlock.
    case "55P03": // Lock timeout.
    case "57014": // Statement timeout.
    case "53300": // Too many connections.
      return new OperatingError("store_busy", "backoff", `${place} is busy: ${text}`, options);
    case "53100":
      return new OperatingError("disk_full", "backoff", `no space left at ${place}: ${text}`, {
        ...options,
        hint: "free some space on the database's disk; nothing that was committed is lost",
      });
    case "23505":
      return new OperatingError("already_exists", "never", text, options);
    case "23001":
    case "23503":
      return new OperatingError("reference_violated", "never", text, options);
    case "22001":
    case "22003":
    case "22021":
    case "23502":
    case "23514":
      return new OperatingError("bad_request", "never", text, options);
    case readOnlyRefusal: // A standby that has not been promoted.
      return new OperatingError("store_unavailable", "backoff", `${place} is read-only`, options);
    case "28000":
    case "28P01":
    case "3D000":
    case "42501":
      return new OperatingError("store_unavailable", "never", `${place} refuses us: ${text}`, {
        ...options,
        hint: "check user, password, database and rights in the store's URL",
      });
    case "XX001":
    case "XX002":
      return new OperatingError("store_corrupt", "never", `${place}: ${text}`, options);
    default:
      return new AssertionError(`Postgres error ${code}: ${text}`);
  }
}

/** A host with several addresses gives one error without a text, with a cause for each address. */
function textOf(thrown: unknown): string {
  return thrown instanceof AggregateError
    ? thrown.errors.map(messageOf).join("; ")
    : messageOf(thrown);
}

function isOwnBug(thrown: unknown): thrown is Error {
  return (
    thrown instanceof AssertionError ||
    thrown instanceof TypeError ||
    thrown instanceof RangeError ||
    thrown instanceof SyntaxError
  );
}
