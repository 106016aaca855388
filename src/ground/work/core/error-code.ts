/** Converts error codes that travelled as text to those of this version. */
import { type ErrorCode, OperatingError, type Retry } from "../../kernel/errors.ts";

/** The hint for a statement that uses too much memory. */
export const memoryHint = "Narrow the query, or give the process more memory with --memory-limit.";

/** How a query may fail, and whether the same query may succeed later. */
const retryByCode = {
  artifact_corrupt: "backoff",
  artifact_lost: "backoff",
  bad_promql: "never",
  bad_request: "never",
  bad_sql: "never",
  cancelled: "never",
  data_corrupt: "never",
  deadline_exceeded: "backoff",
  disk_full: "backoff",
  head_moved: "backoff",
  leader_unreachable: "backoff",
  overloaded: "backoff",
  query_failed: "never",
  query_too_large: "never",
  shutting_down: "backoff",
  statement_too_large: "never",
  store_corrupt: "never",
  store_unavailable: "backoff",
  work_poisonous: "never",
  worker_unreachable: "backoff",
} as const satisfies Partial<Record<ErrorCode, Retry>>;

/** Hints do not travel with a work's failure. */
const hintByCode: Readonly<Partial<Record<ErrorCode, string>>> = {
  statement_too_large: memoryHint,
};

/** An unknown code becomes `query_failed`, and is named in the message. */
export function errorOfQuery(code: string, message: string): OperatingError {
  if (isQueryCode(code)) {
    const hint = hintByCode[code];
    return new OperatingError(code, retryByCode[code], message, hint === undefined ? {} : { hint });
  }
  return new OperatingError("query_failed", "never", `${message} (${code})`);
}

function isQueryCode(code: string): code is keyof typeof retryByCode {
  return Object.hasOwn(retryByCode, code);
}
