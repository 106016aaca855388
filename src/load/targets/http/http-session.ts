/** One connection of HTTP/1.1, kept alive: one request at a time on one socket. */
import { type ClientRequest, Agent as HttpAgent, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { OperatingError } from "../../../kernel/errors.ts";
import type { Operation, ParameterValue } from "../../core/operation.ts";
import type { Done, FailureKind, OperationFailure } from "../../core/target.ts";
import { badSql } from "../session/bad-sql.ts";
import type { DriverSession, Row } from "../session/driver-session.ts";
import { runSteps, type Steps } from "../session/run-steps.ts";
import type { HttpAddress } from "./parse-http-url.ts";
import { parseRequest, type RenderedRequest, type RequestTemplate } from "./parse-request.ts";

type HttpPlan = Steps<RequestTemplate>;

interface Answered {
  readonly status: number;
  readonly text: string;
}

export class HttpSession implements DriverSession<HttpPlan> {
  readonly #address: HttpAddress;
  readonly #agent: HttpAgent;
  #request: ClientRequest | undefined;
  #onLost: ((failure: OperationFailure) => void) | undefined;
  #isClosed = false;

  constructor(address: HttpAddress) {
    this.#address = address;
    const options = { keepAlive: true, maxSockets: 1, maxFreeSockets: 1 };
    this.#agent = address.isTls ? new HttpsAgent(options) : new HttpAgent(options);
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
    return Promise.resolve({ statements, rollback: undefined });
  }

  start(plan: HttpPlan, values: readonly ParameterValue[], answer: Done): void {
    runSteps(
      plan,
      (template, answered) => {
        this.#send(template.method, template.render(values), { keepsBody: false }, (outcome) => {
          if ("kind" in outcome) this.#lose(outcome);
          else if (outcome.status >= 400) answered(refusalOf(outcome.status), 0);
          else answered(undefined, 1);
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
      this.#send(method, render([]), { keepsBody: true }, resolve);
    });
    if ("kind" in outcome) {
      throw new OperatingError("target_unreachable", "backoff", outcome.message);
    }
    if (outcome.status >= 400) {
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
    { path, headers, body }: RenderedRequest,
    options: { readonly keepsBody: boolean },
    settle: (outcome: Answered | OperationFailure) => void,
  ): void {
    const { host, port, socketPath, isTls, basePath, authorization } = this.#address;
    const bytes = Buffer.from(body);
    const request = (isTls ? requestHttps : requestHttp)({
      agent: this.#agent,
      ...(socketPath === undefined ? { host, port } : { socketPath }),
      method,
      path: basePath + path,
      headers: {
        ...(authorization === undefined ? {} : { authorization }),
        ...headers,
        ...(bytes.length > 0 || method === "POST" ? { "content-length": bytes.length } : {}),
      },
    });
    this.#request = request;
    const lost = (error: unknown): void => {
      const { code } = error as { readonly code?: unknown };
      const text = typeof code === "string" ? code : "lost";
      settle({ kind: "connection", code: text, message: `the connection was lost: ${text}` });
    };
    request.on("error", lost);
    request.on("response", (response) => {
      const pieces: Buffer[] = [];
      response.on("data", (piece: Buffer) => {
        if (options.keepsBody) pieces.push(piece);
      });
      response.on("error", lost);
      response.on("end", () =>
        settle({ status: response.statusCode ?? 0, text: Buffer.concat(pieces).toString() }),
      );
    });
    request.end(bytes);
  }
}

/** By its status alone: what a server writes may have our values in it. */
function refusalOf(status: number): OperationFailure {
  return { kind: kindOf(status), code: String(status), message: `answered ${status}` };
}

function kindOf(status: number): FailureKind {
  switch (status) {
    case 401:
    case 403:
    case 407:
      return "permission";
    case 408:
    case 504:
      return "timeout";
    case 409:
    case 412:
      return "serialization";
    case 413:
    case 429:
    case 503:
    case 507:
      return "resources";
    case 400:
    case 404:
    case 405:
    case 422:
      return "syntax";
    default:
      return "other";
  }
}

function bodyOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
