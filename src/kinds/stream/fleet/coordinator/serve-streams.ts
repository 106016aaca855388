/**
 * The data port of a coordinator: fragments on workers read its streams there, with the cluster's
 * token or its certificates. A request waits for rows for a moment; its answer is JSON.
 */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { detailsOf, messageOf, OperatingError } from "../../../../ground/kernel/errors.ts";
import type { AskedRows, SystemRows } from "../../run/core/index.ts";
import { askedRowsOf, type StreamsAnswer } from "../core/index.ts";

export interface StreamsServerOptions {
  /** `undefined`: there is no such stream. */
  readonly rows: (asked: AskedRows) => Promise<SystemRows | undefined>;
  readonly isAllowed: (headers: IncomingHttpHeaders) => boolean;
}

export function serveStreams(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  { rows, isAllowed }: StreamsServerOptions,
): void {
  stream.on("error", () => undefined); // Whoever asked is gone.
  const asked = askedRowsOf(String(headers[constants.HTTP2_HEADER_PATH] ?? ""));
  if (!isAllowed(headers)) answer(stream, 401);
  else if (asked === undefined) answer(stream, 404);
  else {
    rows(asked).then(
      (found) => (found === undefined ? answer(stream, 404) : answer(stream, 200, found)),
      (thrown: unknown) => answer(stream, 503, { error: errorOf(thrown) }),
    );
  }
}

function errorOf(thrown: unknown): Extract<StreamsAnswer, { readonly error: unknown }>["error"] {
  if (!(thrown instanceof OperatingError)) return { retry: "backoff", message: messageOf(thrown) };
  const { retry, message } = thrown;
  const { hint } = detailsOf(thrown);
  return { retry, message: hint === undefined ? message : `${message}. ${hint}` };
}

function answer(stream: ServerHttp2Stream, status: number, body?: StreamsAnswer): void {
  if (stream.destroyed) return;
  stream.respond({ [constants.HTTP2_HEADER_STATUS]: status });
  stream.end(body === undefined ? "" : JSON.stringify(body));
}
