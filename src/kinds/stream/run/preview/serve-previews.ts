/**
 * Where the coordinator reads previews: one HTTP/2 stream for each, on the data port. The body of
 * the answer is lines: a row is an array, and an object says how many rows were left out until
 * there, and at last that the sources have ended. A body that breaks off says that the run was
 * stopped. What the reader does not take stays in the outlet, which is bounded (SU70).
 */
import { once } from "node:events";
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { constants } from "node:http2";
import type { QueryRun } from "../core/stream-host.ts";
import type { PreviewNews, PreviewOutlets } from "./preview-outlets.ts";

const previewPrefix = "/streams/previews/";

export interface PreviewServerOptions {
  readonly previews: PreviewOutlets;
  /** Whether the reader may connect. */
  readonly isAllowed: (headers: IncomingHttpHeaders) => boolean;
}

/** The path of a preview on the data port. */
export function previewPath({ query, epoch }: QueryRun): string {
  return `${previewPrefix}${query}/${epoch}`;
}

/** Takes a stream that asks for a preview; `false`: it asks for something else. */
export function servePreviews(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  { previews, isAllowed }: PreviewServerOptions,
): boolean {
  const path = headers[constants.HTTP2_HEADER_PATH];
  if (typeof path !== "string" || !path.startsWith(previewPrefix)) return false;
  stream.on("error", () => undefined); // `close` follows.
  const run = runOf(path.slice(previewPrefix.length));
  const news = isAllowed(headers) ? run && previews.read(run) : undefined;
  if (news === undefined) {
    const status = isAllowed(headers) ? 404 : 401;
    stream.respond({ [constants.HTTP2_HEADER_STATUS]: status }, { endStream: true });
    return true;
  }
  stream.respond({ [constants.HTTP2_HEADER_STATUS]: 200 });
  void send(stream, news);
  return true;
}

async function send(stream: ServerHttp2Stream, news: AsyncGenerator<PreviewNews>): Promise<void> {
  const gone = new Promise<void>((resolve) => stream.once("close", resolve));
  let leftOut = 0;
  try {
    for (;;) {
      const next = await Promise.race([news.next(), gone]);
      if (next === undefined || next.done === true || stream.destroyed) break;
      if (next.value === "ended") {
        stream.end(`${JSON.stringify({ left_out: leftOut, ended: true })}\n`);
        return;
      }
      const { lines } = next.value;
      if (next.value.leftOut > leftOut) {
        leftOut = next.value.leftOut;
        stream.write(`${JSON.stringify({ left_out: leftOut })}\n`);
      }
      if (!stream.write(lines)) await Promise.race([once(stream, "drain"), gone]);
    }
    stream.close(constants.NGHTTP2_CANCEL);
  } catch {
    stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  } finally {
    void news.return(undefined);
  }
}

function runOf(path: string): QueryRun | undefined {
  const [query, epoch, ...more] = path.split("/");
  if (query === undefined || epoch === undefined || more.length > 0) return undefined;
  return /^\d{1,15}$/.test(epoch) ? { query, epoch: Number(epoch) } : undefined;
}
