/** Errors in statements. The message ends with the line and a caret, as in DuckDB's shell. */
import "./error-codes.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";

/** `position` is in characters into `text`. */
export function badSql(
  message: string,
  text: string,
  position: number | undefined,
  hint?: string,
): OperatingError {
  const place = position === undefined ? "" : pointAt(text, position);
  return new OperatingError(
    "bad_sql",
    "never",
    `${message}${place}`,
    hint === undefined ? {} : { hint },
  );
}

/** `LINE 2: …` and a caret under the position. */
export function pointAt(text: string, position: number): string {
  const lineStart = text.lastIndexOf("\n", position - 1) + 1;
  const from = position === 0 ? 0 : lineStart; // `lastIndexOf` takes a negative start for 0.
  const lineNumber = text.slice(0, position).split("\n").length;
  const column = position - from;
  const line = text.slice(from).split("\n", 1)[0] ?? "";
  // A window of the line, so that a statement without line breaks does not flood its own error.
  const cut = Math.max(0, column - 60);
  const head = `LINE ${lineNumber}: ${cut > 0 ? "…" : ""}`;
  return `\n${head}${line.slice(cut, column + 60)}\n${" ".repeat(head.length + column - cut)}^`;
}

/** Converts DuckDB's byte offset to characters. Undefined when it is outside the text. */
export function characterAt(text: string, byte: number): number | undefined {
  let bytes = 0;
  let at = 0;
  while (bytes < byte && at < text.length) {
    const code = text.codePointAt(at) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    at += code < 0x10000 ? 1 : 2;
  }
  return bytes >= byte ? at : undefined;
}
