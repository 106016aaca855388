/** DuckDB's errors, translated once. It is set to give them as JSON (`errors_as_json`). */
import { type ErrorCode, messageOf, OperatingError, type Retry } from "../../kernel/errors.ts";

interface DuckDbError {
  readonly type: string;
  readonly message: string;
  /** In bytes, into the statement. */
  readonly position: number | undefined;
}

/** `sql` is the text that positions are about. */
export function translateDuckDbError(thrown: unknown, sql?: string): OperatingError {
  const error = parse(messageOf(thrown));
  const [code, retry, hint] = judge(error);
  const place = code === "bad_sql" && sql !== undefined ? pointAt(sql, error.position) : "";
  const message = `${error.type} Error: ${error.message}${place}`;
  return new OperatingError(code, retry, message, hint === undefined ? {} : { hint });
}

/** `LINE 2: …` and a caret under the place, as DuckDB's own shell shows it; empty where there is no place. */
export function pointAt(sql: string, position: number | undefined): string {
  if (position === undefined) return "";
  const bytes = new TextEncoder().encode(sql);
  if (position > bytes.length) return "";
  const before = new TextDecoder().decode(bytes.subarray(0, position));
  const lineStart = before.lastIndexOf("\n") + 1;
  const lineNumber = before.split("\n").length;
  const columnNumber = before.length - lineStart;
  const line = sql.slice(lineStart).split("\n", 1)[0] ?? "";
  // A window of the line, so that a statement without line breaks does not drown its own error.
  const from = Math.max(0, columnNumber - 60);
  const shown = `LINE ${lineNumber}: ${from > 0 ? "…" : ""}${line.slice(from, columnNumber + 60)}`;
  const indent = " ".repeat(
    `LINE ${lineNumber}: `.length + (from > 0 ? 1 : 0) + columnNumber - from,
  );
  return `\n${shown}\n${indent}^`;
}

export function isInterrupt(thrown: unknown): boolean {
  return parse(messageOf(thrown)).type.toUpperCase() === "INTERRUPT";
}

/** After this the instance answers nothing any more. */
export function isFatal(thrown: unknown): boolean {
  const { type, message } = parse(messageOf(thrown));
  return type === "FATAL" || message.includes("database has been invalidated");
}

function parse(text: string): DuckDbError {
  const start = text.indexOf("{");
  if (start < 0) return { type: "Unknown", message: text, position: undefined };
  try {
    const json = JSON.parse(text.slice(start)) as Readonly<Record<string, unknown>>;
    const position = Number(json.position ?? Number.NaN);
    return {
      type: String(json.exception_type ?? "Unknown"),
      message: String(json.exception_message ?? text),
      position: Number.isSafeInteger(position) ? position : undefined,
    };
  } catch {
    return { type: "Unknown", message: text, position: undefined };
  }
}

function judge({ type, message }: DuckDbError): readonly [ErrorCode, Retry, hint?: string] {
  switch (type) {
    case "Out of Memory":
      return ["query_too_large", "never", "narrow the query, or give workers more memory"];
    case "IO":
      return /no space left|disk quota|file too large/i.test(message)
        ? ["disk_full", "backoff"]
        : ["query_failed", "backoff"];
    case "INTERRUPT":
      return ["cancelled", "never"];
    case "FATAL":
    case "INTERNAL":
    case "Unknown":
      return ["query_failed", "never"];
    default:
      return ["bad_sql", "never"];
  }
}
