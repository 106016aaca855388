/**
 * Calls the API. It uses `node:http` because `fetch` takes three times as long to start, which is
 * most of the time of `capstan status`.
 */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { ErrorDetails } from "../../kernel/errors.ts";
import { exitCodes } from "../exit-codes.ts";
import { exitCodeOf, Failure } from "../failure.ts";

export interface Connection {
  /** `http://127.0.0.1:4600` */
  readonly url: string;
  readonly token: string | undefined;
}

export interface Call {
  readonly method?: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as a form, instead of `body`. */
  readonly form?: URLSearchParams;
  /** Sent unchanged, instead of `body`. */
  readonly bytes?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** The call fails after this long without a byte. Undefined: streams may be silent for ever. */
  readonly silenceMsMax?: number;
}

export class ApiClient {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  get url(): string {
    return this.#connection.url;
  }

  /** Returns the parsed JSON of the answer. */
  async json<T>(path: string, call: Call = {}): Promise<T> {
    const response = await this.open(path, { silenceMsMax: 30_000, ...call });
    return JSON.parse(await textOf(response)) as T;
  }

  /** Resolves with the answer once its status is a success. Throws `Failure` otherwise. */
  async open(path: string, call: Call = {}): Promise<IncomingMessage> {
    const response = await this.#request(path, call);
    if ((response.statusCode ?? 500) < 400) return response;
    throw refusal(response.statusCode ?? 500, await textOf(response));
  }

  async #request(path: string, call: Call): Promise<IncomingMessage> {
    const { url, token } = this.#connection;
    const secure = url.startsWith("https:");
    const { request } = secure ? await import("node:https") : await import("node:http");
    const { content, contentType } = contentOf(call);
    const asked = request(`${url}${path}`, {
      method: call.method ?? "GET",
      agent: false,
      headers: {
        accept: "application/json",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(contentType === undefined ? {} : { "content-type": contentType }),
        ...call.headers,
      },
      ...(call.silenceMsMax === undefined ? {} : { timeout: call.silenceMsMax }),
      ...(call.signal === undefined ? {} : { signal: call.signal }),
    });
    asked.on("timeout", () => asked.destroy(new Error("no answer in time")));
    asked.end(content);
    try {
      const [response] = (await once(asked, "response")) as [IncomingMessage];
      return response;
    } catch (thrown) {
      if (call.signal?.aborted === true) throw thrown;
      throw unreachable(url, thrown);
    }
  }
}

export function unreachable(url: string, thrown: unknown): Failure {
  const reason = thrown instanceof Error && "code" in thrown ? String(thrown.code) : String(thrown);
  return new Failure(
    "unreachable",
    `cannot reach Capstan at ${url} (${reason})`,
    exitCodes.unreachable,
    "Start it with `capstan up`, or say where it is with --url or CAPSTAN_URL.",
  );
}

/** A connection that broke in the middle of an answer, as a failure; anything else as it is. */
export function brokenAnswer(thrown: unknown): unknown {
  const isBroken = thrown instanceof Error && "code" in thrown && thrown.code === "ECONNRESET";
  if (!isBroken) return thrown;
  const hint = "The coordinator may have ended, or another one leads now: ask again.";
  const message = "the answer broke off before its end";
  return new Failure("truncated", message, exitCodes.unreachable, hint);
}

interface Content {
  readonly content: string | Uint8Array | undefined;
  readonly contentType: string | undefined;
}

function contentOf({ body, form, bytes }: Call): Content {
  if (bytes !== undefined) return { content: bytes, contentType: "application/octet-stream" };
  if (form !== undefined) {
    return { content: form.toString(), contentType: "application/x-www-form-urlencoded" };
  }
  if (body === undefined) return { content: undefined, contentType: undefined };
  return { content: JSON.stringify(body), contentType: "application/json" };
}

/** An error in Capstan's shape or in Prometheus's. */
interface RefusalBody extends ErrorDetails {
  readonly code?: string;
  readonly message?: string;
  readonly errorType?: string;
  readonly error?: string;
}

function refusal(status: number, text: string): Failure {
  let body: RefusalBody = {};
  try {
    body = JSON.parse(text) as RefusalBody;
  } catch {
    // A proxy between us and Capstan answered; its text is not for a terminal.
  }
  const code = body.code ?? body.errorType ?? "http_error";
  const exitCode = status === 401 || status === 403 ? exitCodes.notAuthorised : exitCodeOf(code);
  const message = body.message ?? body.error ?? `the answer was HTTP ${status}`;
  return new Failure(code, message, exitCode, body.hint, body);
}

async function textOf(response: IncomingMessage): Promise<string> {
  response.setEncoding("utf8");
  let text = "";
  try {
    for await (const chunk of response) text += chunk;
  } catch (thrown) {
    throw brokenAnswer(thrown);
  }
  return text;
}
