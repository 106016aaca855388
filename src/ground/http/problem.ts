/** Errors as the API reports them: `{code, message, hint?}`, with the status that fits the code. */
import { type ErrorCode, OperatingError } from "../kernel/errors.ts";
import { withoutPaths } from "../kernel/without-paths.ts";

/** Codes that only HTTP itself can cause, in addition to the kernel's. */
export type HttpCode =
  | "internal"
  | "method_not_allowed"
  | "payload_too_large"
  | "unsupported_media_type"
  | "headers_too_large";

export interface Problem {
  readonly status: number;
  readonly code: ErrorCode | HttpCode;
  readonly message: string;
  readonly hint: string | undefined;
}

const statusOf: Readonly<Partial<Record<ErrorCode, number>>> = {
  already_exists: 409,
  artifact_corrupt: 502,
  artifact_lost: 502,
  bad_promql: 422,
  bad_request: 400,
  bad_settings: 400,
  bad_sql: 400,
  cancelled: 409,
  commit_unknown: 503,
  conflict: 409,
  deadline_exceeded: 504,
  disk_full: 507,
  forbidden: 403,
  head_moved: 503,
  leader_unreachable: 503,
  lease_lost: 503,
  not_found: 404,
  not_leader: 503,
  overloaded: 429,
  protocol_violation: 502,
  query_failed: 502,
  query_too_large: 422,
  reference_violated: 409,
  schema_absent: 503,
  schema_newer: 503,
  schema_older: 503,
  shutting_down: 503,
  statement_too_large: 422,
  store_busy: 503,
  data_corrupt: 500,
  store_corrupt: 500,
  store_unavailable: 503,
  target_refused: 502,
  target_unreachable: 502,
  unauthenticated: 401,
  unsupported: 501,
  work_poisonous: 422,
  worker_busy: 409,
  worker_name_taken: 409,
  worker_unreachable: 503,
};

/**
 * Errors with these codes name this server's own files. Their paths are removed from answers; the
 * command line, which opens the files itself, shows them.
 */
const ofOwnFiles = /^(store_|schema_|disk_full$|data_dir_)/;

/**
 * The problem to report for anything that was thrown. An error that is not an `OperatingError` is a
 * bug: its text is only in the log, under `requestId`.
 */
export function problemOf(thrown: unknown, requestId: string): Problem {
  if (thrown instanceof OperatingError) {
    const { code, hint } = thrown;
    const message = ofOwnFiles.test(code) ? withoutPaths(thrown.message) : thrown.message;
    return { status: statusOf[code] ?? 500, code, message, hint };
  }
  return (
    frameworkProblem(thrown) ?? {
      status: 500,
      code: "internal",
      message: `Something went wrong inside Capstan (${requestId}).`,
      hint: `The log has the details under request_id ${requestId}.`,
    }
  );
}

export function bodyOf(problem: Problem): { code: string; message: string; hint?: string } {
  const { code, message, hint } = problem;
  return hint === undefined ? { code, message } : { code, message, hint };
}

interface FrameworkError {
  readonly code?: string;
  readonly statusCode?: number;
  readonly message: string;
  readonly validation?: readonly { readonly instancePath?: string; readonly message?: string }[];
  readonly validationContext?: string;
}

/** Fastify's own errors about a request. Undefined when the caller made no mistake. */
function frameworkProblem(thrown: unknown): Problem | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const error: FrameworkError = thrown;
  if (error.validation !== undefined) return validationProblem(error);
  switch (error.code) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return problem(413, "payload_too_large", "the request's body is too large");
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return problem(
        415,
        "unsupported_media_type",
        "the request's body must be JSON",
        "Send it with content-type: application/json.",
      );
    default:
      if (error.statusCode === undefined || error.statusCode < 400 || error.statusCode > 499) {
        return undefined;
      }
      return problem(error.statusCode, "bad_request", error.message);
  }
}

function validationProblem(error: FrameworkError): Problem {
  const place = error.validationContext ?? "body";
  const faults = (error.validation ?? []).map(({ instancePath = "", message = "is not valid" }) => {
    const field = instancePath.replace(/^\//, "").replaceAll("/", ".");
    return field === "" ? `${place}: ${message}` : `${field}: ${message}`;
  });
  return problem(400, "bad_request", faults.join("; "), "The API is described at /openapi.json.");
}

function problem(
  status: number,
  code: ErrorCode | HttpCode,
  message: string,
  hint?: string,
): Problem {
  return { status, code, message, hint };
}

export const methodNotAllowed = (method: string, path: string, allowed: string): Problem =>
  problem(405, "method_not_allowed", `${path} does not take ${method}`, `It takes ${allowed}.`);

export const notFound = (path: string): Problem =>
  problem(
    404,
    "not_found",
    `there is nothing at ${path}`,
    "The API is described at /openapi.json.",
  );
