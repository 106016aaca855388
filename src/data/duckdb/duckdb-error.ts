/** Translates DuckDB's errors, which arrive as JSON (`errors_as_json`). */
import {
  type ErrorCode,
  messageOf,
  OperatingError,
  type Retry,
} from "../../ground/kernel/errors.ts";
import { withoutPaths } from "../../ground/kernel/without-paths.ts";
import { characterAt, pointAt } from "../sql/core/index.ts";

/** The hint for a statement that uses too much memory. */
export const memoryHint = "Narrow the query, or give the process more memory with --memory-limit.";

interface DuckDbError {
  readonly type: string;
  readonly message: string;
  /** The offset in the statement, in bytes. */
  readonly position: number | undefined;
}

/** Positions refer to `sql`. The original error stays as the cause: see `isFatal`. */
export function translateDuckDbError(thrown: unknown, sql?: string): OperatingError {
  const error = parse(messageOf(thrown));
  const [code, retry, hint] = judge(error);
  const place = code === "bad_sql" && sql !== undefined ? placeOf(sql, error.position) : "";
  // Errors in a statement keep the user's own paths; other errors would show paths of our files.
  const told = withoutPaths(withoutAdvice(error), code === "bad_sql" ? sql : "");
  const message = `${error.type} Error: ${told}${place}`;
  const options = hint === undefined ? {} : { hint };
  return new OperatingError(code, retry, message, { ...options, cause: thrown });
}

/** The output of `pointAt` for DuckDB's position; empty without a position. */
export function placeOf(sql: string, position: number | undefined): string {
  const at = position === undefined ? undefined : characterAt(sql, position);
  return at === undefined ? "" : pointAt(sql, at);
}

/** Removes DuckDB's advice about settings that the user cannot change. */
function withoutAdvice({ type, message }: DuckDbError): string {
  return type === "Out of Memory" ? message.replace(/\s*Possible solutions:.*$/s, "") : message;
}

export function isInterrupt(thrown: unknown): boolean {
  return parse(messageOf(thrown)).type.toUpperCase() === "INTERRUPT";
}

/**
 * Whether the instance is unusable from now on. Judged by DuckDB's error type, never by the
 * message, which a user's statement can write.
 */
export function isFatal(thrown: unknown): boolean {
  const raw = thrown instanceof OperatingError ? thrown.cause : thrown;
  return raw !== undefined && parse(messageOf(raw)).type === "FATAL";
}

/**
 * An error is JSON, or `Type Error: ` and a text. That text is DuckDB's JSON if it names the same
 * type, and otherwise a user's, as from `error('{"exception_type": …}')`.
 */
function parse(text: string): DuckDbError {
  if (text.startsWith("{")) {
    return parseJson(text) ?? { type: "Unknown", message: text, position: undefined };
  }
  const [, type, message] = /^([A-Za-z ]+) Error: (.*)$/s.exec(text) ?? [];
  if (type === undefined || message === undefined) {
    return { type: "Unknown", message: text, position: undefined };
  }
  const inner = parseJson(message);
  return inner?.type === type ? inner : { type, message, position: undefined };
}

function parseJson(text: string): DuckDbError | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    const json = JSON.parse(text) as Readonly<Record<string, unknown>>;
    const position = Number(json.position ?? Number.NaN);
    return {
      type: String(json.exception_type ?? "Unknown"),
      message: String(json.exception_message ?? text),
      position: Number.isSafeInteger(position) ? position : undefined,
    };
  } catch {
    return undefined;
  }
}

function judge({ type, message }: DuckDbError): readonly [ErrorCode, Retry, hint?: string] {
  switch (type) {
    case "Out of Memory":
      return ["statement_too_large", "never", memoryHint];
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
