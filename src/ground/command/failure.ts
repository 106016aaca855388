/**
 * A command's failure: one line for a person, a code for a program, an exit status for a script.
 */
import { ruleOfCode } from "../kernel/error-codes.ts";
import {
  detailsOf,
  type ErrorDetails,
  OperatingError,
  type TextPosition,
} from "../kernel/errors.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";

export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: string;
  readonly hint: string | undefined;
  readonly number: number | undefined;
  readonly position: TextPosition | undefined;
  readonly statement: number | undefined;
  readonly exitCode: ExitCode;

  constructor(
    code: string,
    message: string,
    exitCode: ExitCode,
    hint?: string,
    { number, position, statement }: Omit<ErrorDetails, "hint"> = {},
  ) {
    super(message);
    this.code = code;
    this.hint = hint;
    this.number = number;
    this.position = position;
    this.statement = statement;
    this.exitCode = exitCode;
  }
}

/** Undefined when the error is a bug, which the user can do nothing about. */
export function failureOf(thrown: unknown): Failure | undefined {
  if (thrown instanceof Failure) return thrown;
  if (!(thrown instanceof OperatingError)) return undefined;
  const { code, message, hint } = thrown;
  return new Failure(code, message, exitCodeOf(code), hint, detailsOf(thrown));
}

/** The exit status that a code has by itself. */
export function exitCodeOf(code: string): ExitCode {
  // `usage` is the code that a child of `up` reports for a wrong command line.
  if (code === "usage") return exitCodes.usage;
  return exitCodes[ruleOfCode(code)?.exit ?? "failure"];
}
