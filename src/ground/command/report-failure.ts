import { detailsOf } from "../kernel/errors.ts";
import type { Failure } from "./failure.ts";
import type { Paint } from "./output/terminal.ts";
import { printable } from "./output/terminal-text.ts";

/** Formats one line with the error and one with the hint. */
export function formatFailure(failure: Failure, paint: Paint): string {
  const { message, hint, number, position } = failure;
  // Only a database error has a second line, which points at the place.
  const lines = message.split("\n").map(printable).join("\n       ");
  const label = number === undefined ? "error:" : `error ${number}:`;
  const place = position === undefined ? "" : ` (line ${position.line}, column ${position.column})`;
  const first = `${paint.red(printable(label))} ${lines}${printable(place)}\n`;
  return hint === undefined ? first : `${first}${paint.dim("hint:")}  ${printable(hint)}\n`;
}

export function formatFailureJson(failure: Failure): string {
  const { code, message } = failure;
  return `${JSON.stringify({ code, message, ...detailsOf(failure) })}\n`;
}
