/** One connection of HTTP/1.1, kept alive: one request at a time on one socket. Rules: HT5. */
import { type ClientRequest, type Agent as HttpAgent, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Socket } from "node:net";
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { LoopTurns } from "../../../../ground/kernel/node/loop-turns.ts";
import type { Operation, ParameterValue } from "../../core/operation.ts";
import type { Done, FailureKind, OperationFailure } from "../../core/target.ts";
import { guardedLookup } from "../guarded-lookup.ts";
import { badSql } from "../session/bad-sql.ts";
import type { DriverSession, Row } from "../session/driver-session.ts";
import { runSteps, type Steps } from "../session/run-steps.ts";
import { createAgent, type RoundTrip } from "./http-socket.ts";
import type { HttpAddress } from "./parse-http-url.ts";
import { parseRequest, type RenderedRequest, type RequestTemplate } from "./parse-request.ts";

interface HttpPlan extends Steps<RequestTemplate> {
  /** `undefined`: those from 200 to 299. */
  readonly expected: ReadonlySet<number> | undefined;
}

interface Answered {
  readonly status: number;
  readonly text: string;
  /** HT5: 1 if it was sent again. */
  readonly resent: number;
}

/** A server that closes after its answer does so within this time, even if its machine is busy. */
const closeMsMax = 5;
const turns = new LoopTurns();

export class HttpSession implements DriverSession<HttpPlan> {
  readonly #address: HttpAddress;
  readonly #agent: HttpAgent;
  readonly #clock: Clock;
  readonly #roundTrip: RoundTrip;
  /** Its last request was answered completely. */
  #answered: Socket | undefined;
  #request: ClientRequest | undefined;
  #onLost: ((failure: OperationFailure) => void) | undefined;
  #isClosed = false;

  constructor(address: HttpAddress, socket: Socket, clock: Clock, roundTrip: RoundTrip) {
    this.#address = address;
    this.#agent = createAgent(address.isTls, socket);
    this.#clock = clock;
    this.#roundTrip = roundTrip;
  }

  prepare(operation: Operation): Promise<HttpPlan> {
    if (operation.isTransaction) {
      const message = `operation ${operation.name}: HTTP has no transactions`;
      return Promise.reject(new OperatingError("bad_sql", "never", message));
    }
    const statements: RequestTemplate[] = [];
    for (const statement of operation.statements) {
      try {
        statements.push(parseRequest(statement));
      } catch (error) {
        if (!(error instanceof OperatingError)) throw error;
        return Promise.reject(badSql(operation, statement, error.message));
      }
    }
    const { expectedStatuses: expected } = operation;
    return Promise.resolve({ statements, rollback: undefined, expected });
  }

  start(plan: HttpPlan, values: readonly ParameterValue[], answer: Done): void {
    runSteps(
      plan,
      (template, answered) => {
        const options = { keepsBody: false, resent: 0 };
        this.#send(template.method, template.render(values), options, (outcome) => {
          if ("kind" in outcome) this.#lose(outcome);
          else if (isExpected(outcome.status, plan.expected)) {
            answered(undefined, 1, outcome.resent);
          } else answered(refusalOf(outcome.status), 0, outcome.resent);
        });
      },
      answer,
    );
  }

  async run(sql: string, values: readonly ParameterValue[]): Promise<readonly Row[]> {
    if (values.length > 0) {
      throw new OperatingError("unsupported", "never", "a request has no placeholders here");
    }
    const { method, render } = parseRequest({ texts: [sql], parameters: [] });
    const outcome = await new Promise<Answered | OperationFailure>((resolve) => {
      this.#send(method, render([]), { keepsBody: true, resent: 0 }, resolve);
    });
    if ("kind" in outcome) {
      throw new OperatingError("target_unreachable", "backoff", outcome.message);
    }
    if (!isExpected(outcome.status, undefined)) {
      const { kind, message } = refusalOf(outcome.status);
      const isPassing = kind === "resources" || kind === "timeout";
      throw new OperatingError("query_failed", isPassing ? "backoff" : "never", message);
    }
    return [[bodyOf(outcome.text)]];
  }

  onLost(listener: (failure: OperationFailure) => void): void {
    this.#onLost = listener;
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.#request?.destroy();
    this.#agent.destroy();
    return Promise.resolve();
  }

  #lose(failure: OperationFailure): void {
    if (!this.#isClosed) this.#onLost?.(failure);
  }

  #send(
    method: string,
    rendered: RenderedRequest,
    options: { readonly keepsBody: boolean; readonly resent: number },
    settle: (outcome: Answered | OperationFailure) => void,
  ): void {
    const { path, headers, body } = rendered;
    const { host, port, socketPath, isTls, basePath, authorization } = this.#address;
    const bytes = Buffer.from(body);
    const request = (isTls ? requestHttps : requestHttp)({
      agent: this.#agent,
      ...(socketPath === undefined ? { host, port, lookup: guardedLookup } : { socketPath }),
      method,
      path: basePath + path,
      headers: {
        ...(authorization === undefined ? {} : { authorization }),
        ...headers,
        ...(bytes.length > 0 || method === "POST" ? { "content-length": bytes.length } : {}),
      },
    });
    this.#request = request;
    let hasAnswer = false;
    let used: Socket | undefined;
    let isReused = false;
    let [writtenMs, writtenTurn] = [0, 0];
    // Node's own `reusedSocket` is false for a request that was waiting for the socket.
    request.on("socket", (socket) => {
      used = socket;
      isReused = socket === this.#answered;
      this.#answered = undefined;
      writtenMs = this.#clock.nowMs();
      writtenTurn = turns.mark();
    });
    const lost = (error: unknown): void => {
      const { code, syscall } = error as { readonly code?: unknown; readonly syscall?: unknown };
      const isStale =
        isReused && !hasAnswer && this.#isStale(code, syscall, writtenMs, writtenTurn);
      if (isStale && idempotent.has(method) && !this.#isClosed) {
        // Once: the new socket has answered nothing yet.
        this.#send(method, rendered, { ...options, resent: 1 }, settle);
        return;
      }
      const text = typeof code === "string" ? code : "lost";
      settle({ kind: "connection", code: text, message: `the connection was lost: ${text}` });
    };
    request.on("error", lost);
    request.on("response", (response) => {
      hasAnswer = true;
      const pieces: Buffer[] = [];
      response.on("data", (piece: Buffer) => {
        if (options.keepsBody) pieces.push(piece);
      });
      response.on("error", lost);
      response.on("end", () => {
        this.#answered = used;
        const text = Buffer.concat(pieces).toString();
        settle({ status: response.statusCode ?? 0, text, resent: options.resent });
      });
    });
    request.end(bytes);
  }

  /**
   * HT5. A socket that got the server's FIN reads its end and cannot be written (EPIPE); one that
   * was reset without it fails to be read.
   */
  #isStale(code: unknown, syscall: unknown, writtenMs: number, writtenTurn: number): boolean {
    if (code !== "ECONNRESET" && code !== "EPIPE") return false;
    const tookMs = this.#clock.nowMs() - writtenMs;
    if (tookMs < this.#roundTrip.leastMs) return true;
    const isReset = code === "ECONNRESET" && syscall === "read";
    return !isReset && (tookMs <= closeMsMax || turns.isFirstLookSince(writtenTurn));
  }
}

const idempotent: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "OPTIONS",
  "PUT",
  "DELETE",
  "TRACE",
]);

/** HT3 */
function isExpected(status: number, expected: ReadonlySet<number> | undefined): boolean {
  return expected === undefined ? status >= 200 && status < 300 : expected.has(status);
}

/** By its status alone: what a server writes may have our values in it. */
function refusalOf(status: number): OperationFailure {
  return { kind: kindOf(status), code: String(status), message: `answered ${status}` };
}

const statuses: Readonly<Partial<Record<FailureKind, readonly number[]>>> = {
  permission: [401, 403, 407],
  timeout: [408, 504],
  serialization: [409, 412],
  resources: [413, 429, 503, 507],
  syntax: [400, 404, 405, 422],
};

function kindOf(status: number): FailureKind {
  const known = Object.entries(statuses).find(([, each]) => each.includes(status))?.[0];
  if (known !== undefined) return known as FailureKind;
  return status >= 300 && status < 400 ? "redirect" : "other";
}

function bodyOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
