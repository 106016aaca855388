/** DuckDB's errors, translated once. It is set to give them as JSON (`errors_as_json`). */
import {
  type ErrorCode,
  messageOf,
  OperatingError,
  type Retry,
} from "../../ground/kernel/errors.ts";
import { withoutPaths } from "../../ground/kernel/without-paths.ts";
import { memoryHint } from "../../ground/work/core/index.ts";
import { characterAt, pointAt } from "../sql/core/index.ts";

interface DuckDbError {
  readonly type: string;
  readonly message: string;
  /** In bytes, into the statement. */
  readonly position: number | undefined;
}

/** `sql` is the text that positions are about. What was thrown stays as the cause: see `isFatal`. */
export function translateDuckDbError(thrown: unknown, sql?: string): OperatingError {
  const error = parse(messageOf(thrown));
  const [code, retry, hint] = judge(error);
  const place = code === "bad_sql" && sql !== undefined ? placeOf(sql, error.position) : "";
  // What is wrong with a statement is told in the person's own words, paths included; others are of
  // our files.
  const told = withoutPaths(withoutAdvice(error), code === "bad_sql" ? sql : "");
  const message = `${error.type} Error: ${told}${place}`;
  const options = hint === undefined ? {} : { hint };
  return new OperatingError(code, retry, message, { ...options, cause: thrown });
}

/** As `pointAt`, from DuckDB's position; empty where there is no place. */
export function placeOf(sql: string, position: number | undefined): string {
  const at = position === undefined ? undefined : characterAt(sql, position);
  return at === undefined ? "" : pointAt(sql, at);
}

/** DuckDB advises settings that are not the asker's to change. */
function withoutAdvice({ type, message }: DuckDbError): string {
  return type === "Out of Memory" ? message.replace(/\s*Possible solutions:.*$/s, "") : message;
}

export function isInterrupt(thrown: unknown): boolean {
  return parse(messageOf(thrown)).type.toUpperCase() === "INTERRUPT";
}

/**
 * After this the instance answers nothing any more. Judged by the type that DuckDB itself gave its error, whatever that
 * was translated into; never by the message, which a person's statement can write.
 */
export function isFatal(thrown: unknown): boolean {
  const raw = thrown instanceof OperatingError ? thrown.cause : thrown;
  return raw !== undefined && parse(messageOf(raw)).type === "FATAL";
}

/**
 * An error is JSON, or `Type Error: ` and something. That something is JSON of DuckDB's where it names the same type, and
 * otherwise a person's text: `error('{"exception_type": …}')` arrives like this.
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
