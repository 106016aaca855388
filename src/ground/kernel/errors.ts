/**
 * Three kinds of failure, three treatments. An expected outcome is a value in the return type. The
 * outside world failing is an `OperatingError`, translated once, in the shell that met it. Our own
 * reasoning failing is an `AssertionError`, never caught below `main`.
 */
import type { ErrorCode } from "./error-codes.ts";

export type { ErrorCode } from "./error-codes.ts";

/** Whether the same call may succeed later: `never` means that something has to change first. */
export type Retry = "never" | "backoff";

/** A place in a text that a person wrote. Lines and columns count from 1. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/** What an error may say besides its code and message. It goes wherever the error goes. */
export interface ErrorDetails {
  /** What the user could do about it. */
  readonly hint?: string;
  /** The number of the error in its dialect, where that numbers its errors. */
  readonly number?: number;
  readonly position?: TextPosition;
  /** Which of several statements it is about, counted from 1; the position is in that one. */
  readonly statement?: number;
}

/** The outside world failed. Code branches on `code` and `retry`; only people read `message`. */
export class OperatingError extends Error {
  override readonly name = "OperatingError";
  readonly code: ErrorCode;
  readonly retry: Retry;
  readonly hint: string | undefined;
  readonly number: number | undefined;
  readonly position: TextPosition | undefined;
  readonly statement: number | undefined;

  constructor(
    code: ErrorCode,
    retry: Retry,
    message: string,
    options: ErrorDetails & { readonly cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.retry = retry;
    this.hint = options.hint;
    this.number = options.number;
    this.position = options.position;
    this.statement = options.statement;
  }
}

/** The details that are there, as plain data. */
export function detailsOf(
  error: {
    readonly [Name in keyof ErrorDetails]: ErrorDetails[Name] | undefined;
  },
): ErrorDetails {
  const { hint, number, position, statement } = error;
  return {
    ...(hint === undefined ? {} : { hint }),
    ...(number === undefined ? {} : { number }),
    ...(position === undefined
      ? {}
      : { position: { line: position.line, column: position.column } }),
    ...(statement === undefined ? {} : { statement }),
  };
}

/** Our reasoning failed. */
export class AssertionError extends Error {
  override readonly name = "AssertionError";
}

export function assert(condition: boolean, claim: string): asserts condition {
  if (!condition) throw new AssertionError(claim);
}

/** Marks a branch that the types rule out. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${JSON.stringify(value)}`);
}

/** The text of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
