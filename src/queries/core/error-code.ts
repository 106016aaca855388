/** Error codes that travelled as text, back into what this version knows. */
import { type ErrorCode, OperatingError, type Retry } from "../../kernel/errors.ts";

/** How a query may end, and whether asking the same again later may succeed. */
const retryByCode = {
  artifact_corrupt: "backoff",
  artifact_lost: "backoff",
  bad_promql: "never",
  bad_request: "never",
  bad_sql: "never",
  cancelled: "never",
  deadline_exceeded: "backoff",
  disk_full: "backoff",
  head_moved: "backoff",
  overloaded: "backoff",
  query_failed: "never",
  query_too_large: "never",
  shutting_down: "backoff",
  store_corrupt: "never",
  store_unavailable: "backoff",
  work_poisonous: "never",
  worker_unreachable: "backoff",
} as const satisfies Partial<Record<ErrorCode, Retry>>;

/** Any other code becomes `query_failed`, and is named in the message. */
export function errorOfQuery(code: string, message: string): OperatingError {
  if (isQueryCode(code)) return new OperatingError(code, retryByCode[code], message);
  return new OperatingError("query_failed", "never", `${message} (${code})`);
}

function isQueryCode(code: string): code is keyof typeof retryByCode {
  return Object.hasOwn(retryByCode, code);
}
