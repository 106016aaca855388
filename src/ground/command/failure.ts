/**
 * A command's failure: one line for a person, a code for a program, an exit status for a script.
 */
import { OperatingError } from "../kernel/errors.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";

export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: string;
  readonly hint: string | undefined;
  readonly exitCode: ExitCode;

  constructor(code: string, message: string, exitCode: ExitCode, hint?: string) {
    super(message);
    this.code = code;
    this.hint = hint;
    this.exitCode = exitCode;
  }
}

/** Undefined when the error is a bug, which the user can do nothing about. */
export function failureOf(thrown: unknown): Failure | undefined {
  if (thrown instanceof Failure) return thrown;
  if (!(thrown instanceof OperatingError)) return undefined;
  return new Failure(thrown.code, thrown.message, exitCodeOf(thrown.code), thrown.hint);
}

function exitCodeOf(code: string): ExitCode {
  if (code === "unauthenticated" || code === "forbidden") return exitCodes.notAuthorised;
  // `usage` is the code that a child of `up` reports for a wrong command line.
  return code === "bad_settings" || code === "usage" ? exitCodes.usage : exitCodes.failure;
}
