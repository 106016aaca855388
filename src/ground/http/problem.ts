/**
 * Errors as the API reports them: `{code, message, hint?, number?, position?, statement?}`, with
 * the status of the code.
 */
import { ruleOfCode } from "../kernel/error-codes.ts";
import { detailsOf, type ErrorCode, type ErrorDetails, OperatingError } from "../kernel/errors.ts";
import { withoutPaths } from "../kernel/without-paths.ts";

/** Codes that only HTTP itself can cause, in addition to the kernel's. */
export type HttpCode =
  | "internal"
  | "method_not_allowed"
  | "payload_too_large"
  | "unsupported_media_type"
  | "headers_too_large";

export interface Problem extends ErrorDetails {
  readonly status: number;
  readonly code: ErrorCode | HttpCode;
  readonly message: string;
}

/**
 * The problem to report for anything that was thrown. An error that is not an `OperatingError` is a
 * bug: its text is only in the log, under `requestId`.
 */
export function problemOf(thrown: unknown, requestId: string): Problem {
  if (thrown instanceof OperatingError) {
    const { code } = thrown;
    const { status = 500, namesOwnFiles } = ruleOfCode(code) ?? {};
    // The command line, which opens the server's files itself, shows their paths.
    const message = namesOwnFiles ? withoutPaths(thrown.message) : thrown.message;
    return { status, code, message, ...detailsOf(thrown) };
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

export interface ProblemBody extends ErrorDetails {
  readonly code: string;
  readonly message: string;
}

export function bodyOf(problem: ProblemBody): ProblemBody {
  const { code, message } = problem;
  return { code, message, ...detailsOf(problem) };
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
  return { status, code, message, ...(hint === undefined ? {} : { hint }) };
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
