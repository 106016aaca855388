import type { Failure } from "./failure.ts";
import type { Paint } from "./output/terminal.ts";
import { printable } from "./output/terminal-text.ts";

/** One clear line, and one with what could be done. */
export function formatFailure({ message, hint }: Failure, paint: Paint): string {
  // A database points at the place with a line of its own; everything else has one line.
  const lines = message.split("\n").map(printable).join("\n       ");
  const first = `${paint.red("error:")} ${lines}\n`;
  return hint === undefined ? first : `${first}${paint.dim("hint:")}  ${printable(hint)}\n`;
}

export function formatFailureJson({ code, message, hint }: Failure): string {
  return `${JSON.stringify(hint === undefined ? { code, message } : { code, message, hint })}\n`;
}
