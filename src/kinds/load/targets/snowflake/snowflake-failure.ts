/** What Snowflake's codes mean, as far as they are documented. */
import { messageOf, type OperatingError } from "../../../../ground/kernel/errors.ts";
import type { FailureKind, OperationFailure } from "../../core/target.ts";
import { errorOfFailure } from "../session/bad-sql.ts";

const kindByCode: Readonly<Record<string, FailureKind>> = {
  "200001": "constraint", // A primary key of a hybrid table.
  "200002": "constraint",
  "200003": "constraint",
  "100072": "constraint", // NULL in a column that is NOT NULL.
  "000604": "timeout", // Cancelled.
  "000630": "timeout", // STATEMENT_TIMEOUT_IN_SECONDS.
  "000625": "resources", // Too many wait for a lock.
  "000606": "resources", // No warehouse.
  "003001": "permission",
  "200004": "deadlock",
};

const kindByClass: Readonly<Record<string, FailureKind>> = {
  "02": "syntax", // An object that does not exist.
  "08": "connection",
  "23": "constraint",
  "28": "permission",
  "40": "serialization",
  "42": "syntax",
  "53": "resources",
  "57": "timeout",
};

/**
 * By its code alone: the server's text quotes values. Codes of the client's own, from 401001 on,
 * are of lost connections.
 */
export function snowflakeFailureOf(thrown: unknown): OperationFailure {
  const { code, sqlState } = (thrown ?? {}) as {
    readonly code?: unknown;
    readonly sqlState?: unknown;
  };
  const text = String(code ?? "unknown").padStart(6, "0");
  const isClient = /^(39|40[0-9])\d+$/.test(text);
  const kind = isClient
    ? "connection"
    : (kindByCode[text] ?? kindByClass[String(sqlState ?? "").slice(0, 2)] ?? "other");
  return { kind, code: text, message: `refused by Snowflake with ${text}` };
}

export function snowflakeError(thrown: unknown): OperatingError {
  return errorOfFailure(snowflakeFailureOf(thrown), messageOf(thrown));
}
