/**
 * Prometheus's answers, `{"status":"success","data":…}`, and its errors,
 * `{"status":"error","errorType":…,"error":…}`, with the HTTP status that its clients expect.
 */
import type { FastifyReply } from "fastify";
import { problemOf } from "../../../ground/http/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { PromqlError } from "../promql/core/index.ts";

export type ErrorType =
  | "bad_data"
  | "execution"
  | "canceled"
  | "timeout"
  | "internal"
  | "unavailable"
  | "not_found";

/** An error answer in Prometheus's format. */
export class PrometheusProblem extends Error {
  override readonly name = "PrometheusProblem";
  readonly status: number;
  readonly errorType: ErrorType;

  constructor(status: number, errorType: ErrorType, message: string) {
    super(message);
    this.status = status;
    this.errorType = errorType;
  }
}

export function badData(message: string): PrometheusProblem {
  return new PrometheusProblem(400, "bad_data", message);
}

export function badParameter(name: string, reason: string): PrometheusProblem {
  return badData(`invalid parameter "${name}": ${reason}`);
}

/**
 * Answers every failure of these routes in Prometheus's format. An internal error reports only its
 * id.
 */
export function prometheusProblemOf(thrown: unknown, requestId: string): PrometheusProblem {
  if (thrown instanceof PrometheusProblem) return thrown;
  if (thrown instanceof PromqlError) {
    if (thrown.stage === "parse") return badParameter("query", thrown.message);
    return new PrometheusProblem(422, "execution", thrown.message);
  }
  if (thrown instanceof OperatingError) {
    switch (thrown.code) {
      case "cancelled":
        return new PrometheusProblem(
          499,
          "canceled",
          "query was canceled in expression evaluation",
        );
      case "deadline_exceeded":
        return new PrometheusProblem(503, "timeout", thrown.message);
      case "query_too_large":
        return new PrometheusProblem(422, "execution", thrown.message);
      default:
    }
  }
  const { status, message } = problemOf(thrown, requestId);
  const words = status === 415 ? "the request's body must be a form" : message;
  return new PrometheusProblem(status, errorTypeOf(status), words);
}

function errorTypeOf(status: number): ErrorType {
  if (status === 404) return "not_found";
  if (status === 422) return "execution";
  if (status >= 400 && status < 500 && status !== 429) return "bad_data";
  // 507 means that a disk is full.
  return status === 503 || status === 429 || status === 507 ? "unavailable" : "internal";
}

export function sendProblem(reply: FastifyReply, problem: PrometheusProblem): FastifyReply {
  const { status, errorType, message } = problem;
  if (status === 429) reply.header("retry-after", "1");
  return sendJson(reply.code(status), { status: "error", errorType, error: message });
}

export const truncatedWarning = "results truncated due to limit";

export function sendSuccess(
  reply: FastifyReply,
  data: unknown,
  warnings: readonly string[] = [],
): FastifyReply {
  const noted = warnings.length === 0 ? {} : { warnings };
  return sendJson(reply, { status: "success", data, ...noted });
}

/**
 * The same answer, for data that are JSON already: they may be large, and another thread wrote
 * them.
 */
export function sendWritten(
  reply: FastifyReply,
  data: Uint8Array,
  warnings: readonly string[],
): FastifyReply {
  const noted = warnings.length === 0 ? "" : `,"warnings":${JSON.stringify(warnings)}`;
  const parts = [Buffer.from('{"status":"success","data":'), data, Buffer.from(`${noted}}`)];
  return reply.type("application/json").send(Buffer.concat(parts));
}

function sendJson(reply: FastifyReply, value: unknown): FastifyReply {
  return reply
    .type("application/json")
    .serializer((text: unknown) => text as string)
    .send(JSON.stringify(value));
}
