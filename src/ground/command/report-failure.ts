import type { Failure } from "./failure.ts";
import type { Paint } from "./output/terminal.ts";
import { printable } from "./output/terminal-text.ts";

/** Formats one line with the error and one with the hint. */
export function formatFailure({ message, hint }: Failure, paint: Paint): string {
  // Only a database error has a second line, which points at the place.
  const lines = message.split("\n").map(printable).join("\n       ");
  const first = `${paint.red("error:")} ${lines}\n`;
  return hint === undefined ? first : `${first}${paint.dim("hint:")}  ${printable(hint)}\n`;
}

export function formatFailureJson({ code, message, hint }: Failure): string {
  return `${JSON.stringify(hint === undefined ? { code, message } : { code, message, hint })}\n`;
}
