/**
 * What the server says when it refuses, and what it means.
 * https://www.postgresql.org/docs/current/errcodes-appendix.html names the codes.
 */
import type { FailureKind, OperationFailure } from "../../core/target.ts";

export interface ServerError {
  readonly severity: string;
  /** SQLSTATE. */
  readonly code: string;
  readonly message: string;
  /** In characters of the statement, from 1; 0: it did not say. */
  readonly position: number;
}

/** The fields of an ErrorResponse: a letter and a text each, until a zero. */
export function parseServerError(bytes: Buffer, start: number, end: number): ServerError {
  const fields = new Map<number, string>();
  let at = start;
  while (at < end && bytes[at] !== 0) {
    const stop = bytes.indexOf(0, at + 1);
    const textEnd = stop === -1 || stop > end ? end : stop;
    fields.set(bytes[at] ?? 0, bytes.toString("utf8", at + 1, textEnd));
    at = textEnd + 1;
  }
  const field = (letter: string): string => fields.get(letter.charCodeAt(0)) ?? "";
  return {
    severity: field("V") || field("S"),
    code: field("C") || "XX000",
    message: field("M") || "no message",
    position: Number(field("P")) || 0,
  };
}

export function failureKindOf(code: string): FailureKind {
  return kindByCode[code] ?? kindByClass[code.slice(0, 2)] ?? "other";
}

const kindByCode: Readonly<Record<string, FailureKind>> = {
  "25P03": "connection", // Idle in a transaction for too long.
  "25P04": "timeout", // transaction_timeout.
  "40P01": "deadlock",
  "42501": "permission",
  "44000": "constraint", // WITH CHECK OPTION.
  "55P03": "timeout", // lock_timeout, NOWAIT.
  "57014": "timeout", // statement_timeout, or cancelled.
  "57P01": "connection", // Shutdown.
  "57P02": "connection", // Crash of another backend.
  "57P03": "connection", // Starting up.
  "57P04": "connection", // The database was dropped.
  "57P05": "connection", // Idle for too long.
};

const kindByClass: Readonly<Record<string, FailureKind>> = {
  "08": "connection",
  "23": "constraint",
  "28": "permission",
  "40": "serialization",
  "42": "syntax",
  "53": "resources",
  "54": "resources",
  "58": "resources",
};

/** TT3: an answer to an execution, without any value. */
export function failureOf({ code, message }: ServerError): OperationFailure {
  return { kind: failureKindOf(code), code, message: withoutValues(code, message) };
}

/**
 * Messages of these classes name objects and constraints, not values (the values are in DETAIL,
 * which we do not read). Data exceptions quote the value; code on the server raises whatever it
 * likes.
 */
const classesWithoutValues = new Set(
  "08 0A 23 25 26 28 34 3D 3F 40 42 44 53 54 55 57 58".split(" "),
);

function withoutValues(code: string, message: string): string {
  const errorClass = code.slice(0, 2);
  if (classesWithoutValues.has(errorClass)) return message;
  if (errorClass === "22") return message.replace(/(["']).*\1|\b[\d.]*\d\b/gs, "…");
  return `refused by the server with ${code}`;
}
