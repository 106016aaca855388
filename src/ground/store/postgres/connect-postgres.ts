/** Postgres connection settings: types, timeouts, and the address without the password. */
import pg from "pg";
import { assert } from "../../kernel/errors.ts";

export interface SessionTimeouts {
  readonly connectMsMax: number;
  /** After this time the server gives up waiting for a lock. */
  readonly lockMsMax: number;
  /** After this time the server cancels a statement; 0 for never. */
  readonly statementMsMax: number;
  /** The server ends a session whose transaction hangs for this long, which frees its locks. */
  readonly idleInTransactionMsMax: number;
}

export function clientConfig(url: string, timeouts: SessionTimeouts): pg.ClientConfig {
  const { connectMsMax, lockMsMax, statementMsMax, idleInTransactionMsMax } = timeouts;
  return {
    connectionString: url,
    application_name: "capstan",
    keepAlive: true,
    connectionTimeoutMillis: connectMsMax,
    lock_timeout: lockMsMax,
    statement_timeout: statementMsMax,
    idle_in_transaction_session_timeout: idleInTransactionMsMax,
    // Our own timeout, for a network that loses answers. It is later than the server's.
    ...(statementMsMax > 0 ? { query_timeout: statementMsMax + connectMsMax } : {}),
    types,
  };
}

/** `postgres://host:port/database`, for messages. */
export function postgresPlace(url: string): string {
  try {
    const { hostname, port, pathname } = new URL(url);
    return `postgres://${hostname}${port === "" ? "" : `:${port}`}${pathname}`;
  } catch {
    return "the Postgres store"; // Connecting will refuse the URL.
  }
}

const int8Oid = 20;
const numericOid = 1700; // The type of sum() of a BIGINT.

/** BIGINT as numbers, as with SQLite. Other types as `pg` parses them. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) => {
    const isNumber = (oid === int8Oid || oid === numericOid) && format !== "binary";
    return isNumber ? parseSafeNumber : pg.types.getTypeParser(oid, format);
  },
};

function parseSafeNumber(text: string): number {
  const value = Number(text);
  const isSafe = Number.isFinite(value) && Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  assert(isSafe, `the store's numbers are within the safe range, ${text} is not`);
  return value;
}
