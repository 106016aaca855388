/**
 * Where other processes' senders arrive: one HTTP/2 stream for each edge. The body of the request
 * is frames; the body of the answer is credit, in bytes that were taken. A sender has a mebibyte of
 * credit for each edge, so whatever comes is read at once and kept, and a slow edge holds no other
 * one of the same connection back (SU24).
 */
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { constants } from "node:http2";
import type { EdgeHub } from "./edge-hub.ts";
import { FrameAssembler } from "./frame-assembler.ts";

export const exchangePrefix = "/streams/exchange/";

/** Credit is given back in steps of this many bytes. */
const creditStep = 128 * 1024;

export interface ExchangeServerOptions {
  readonly hub: EdgeHub;
  /** Whether the sender may connect. */
  readonly isAllowed: (headers: IncomingHttpHeaders) => boolean;
}

/** Takes a stream that is an exchange's; `false`: it is somebody else's. */
export function serveExchange(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  { hub, isAllowed }: ExchangeServerOptions,
): boolean {
  const path = headers[constants.HTTP2_HEADER_PATH];
  if (typeof path !== "string" || !path.startsWith(exchangePrefix)) return false;
  stream.on("error", () => undefined); // `close` follows.
  if (!isAllowed(headers)) {
    stream.respond({ [constants.HTTP2_HEADER_STATUS]: 401 }, { endStream: true });
    return true;
  }
  const edge = hub.arrive(path.slice(exchangePrefix.length));
  const frames = new FrameAssembler((frame) => void edge.out.send(frame));
  let owed = 0;
  edge.onTaken = (bytes) => {
    owed += bytes;
    if (owed < creditStep || stream.destroyed) return;
    const credit = Buffer.alloc(4);
    credit.writeUInt32LE(owed);
    owed = 0;
    stream.write(credit);
  };
  stream.respond({ [constants.HTTP2_HEADER_STATUS]: 200 });
  stream.on("data", (chunk: Buffer) => frames.push(chunk));
  stream.on("end", () => stream.end());
  stream.on("close", () => {
    if (!frames.hasEnded) edge.out.close();
    edge.over();
  });
  return true;
}
