/**
 * Compresses answers of 1 KiB and more, and the dashboard's files, for clients on other machines
 * that accept gzip.
 * Streams (events, rows of a statement) are not compressed, because a compressor would hold pieces
 * back.
 */
import { pipeline, Readable } from "node:stream";
import { createGzip } from "node:zlib";
import type { FastifyReply } from "fastify";
import { gzipAnswer, gzipSettings, takesGzip } from "../process/index.ts";
import type { ApiApp } from "./api-app.ts";

const compressible =
  /^(application\/(json|javascript|manifest\+json|openmetrics-text)|image\/svg\+xml|text\/(?!event-stream))/;

export function installCompression(app: ApiApp): void {
  app.addHook("onSend", async (request, reply, payload) => {
    if (!isCompressible(reply)) return payload;
    reply.header("vary", "accept-encoding");
    if (!takesGzip(request)) return payload;
    if (payload instanceof Readable) {
      announce(reply);
      const zip = createGzip(gzipSettings);
      pipeline(payload, zip, () => undefined); // An error ends the answer, which tells its reader.
      return zip;
    }
    if (typeof payload !== "string" && !Buffer.isBuffer(payload)) return payload;
    // No copy: it may be large.
    const bytes = typeof payload === "string" ? Buffer.from(payload) : payload;
    const small = await gzipAnswer(bytes);
    if (small === undefined) return payload;
    announce(reply);
    reply.header("content-length", small.length);
    return small;
  });
}

function announce(reply: FastifyReply): void {
  reply.header("content-encoding", "gzip");
  reply.removeHeader("content-length");
}

function isCompressible(reply: FastifyReply): boolean {
  if (reply.getHeader("content-encoding") !== undefined || reply.statusCode === 206) return false;
  return compressible.test(String(reply.getHeader("content-type") ?? ""));
}
