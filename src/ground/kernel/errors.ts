/**
 * Three kinds of failure, three treatments. An expected outcome is a value in the return type. The
 * outside world failing is an `OperatingError`, translated once, in the shell that met it. Our own
 * reasoning failing is an `AssertionError`, never caught below `main`.
 */
export type ErrorCode =
  | "already_exists"
  | "artifact_corrupt"
  | "artifact_lost"
  | "bad_promql"
  | "bad_request"
  | "bad_settings"
  | "bad_sql"
  | "cancelled"
  | "commit_unknown"
  | "conflict"
  | "data_corrupt"
  | "data_dir_in_use"
  | "data_dir_unusable"
  | "deadline_exceeded"
  | "disk_full"
  | "forbidden"
  | "head_moved"
  | "leader_unreachable"
  | "lease_lost"
  | "not_found"
  | "not_leader"
  | "overloaded"
  | "port_in_use"
  | "protocol_violation"
  | "query_failed"
  | "query_too_large"
  | "reference_violated"
  | "schema_absent"
  | "schema_newer"
  | "schema_older"
  | "shutting_down"
  | "statement_too_large"
  | "store_busy"
  | "store_corrupt"
  | "store_unavailable"
  | "target_refused"
  | "target_unreachable"
  | "unauthenticated"
  | "unsafe_bind"
  | "unsupported"
  | "work_poisonous"
  | "worker_busy"
  | "worker_name_taken"
  | "worker_unreachable";

/** Whether the same call may succeed later: `never` means that something has to change first. */
export type Retry = "never" | "backoff";

/** The outside world failed. Code branches on `code` and `retry`; only people read `message`. */
export class OperatingError extends Error {
  override readonly name = "OperatingError";
  readonly code: ErrorCode;
  readonly retry: Retry;
  /** What the user could do about it, if anything. */
  readonly hint: string | undefined;

  constructor(
    code: ErrorCode,
    retry: Retry,
    message: string,
    options: { readonly hint?: string; readonly cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.retry = retry;
    this.hint = options.hint;
  }
}

/** Our reasoning failed. */
export class AssertionError extends Error {
  override readonly name = "AssertionError";
}

export function assert(condition: boolean, claim: string): asserts condition {
  if (!condition) throw new AssertionError(claim);
}

/** Marks a branch that the types rule out. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${JSON.stringify(value)}`);
}

/** The text of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
