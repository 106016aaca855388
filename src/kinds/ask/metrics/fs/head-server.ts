/**
 * Serves slices of the head to workers (`POST /head/slice`), and its moment to replicas that answer queries
 * (`GET /head/snapshot`), to holders of the cluster's token. It runs in the thread that owns the head.
 *
 *   HS1  Nobody gets a byte without the token.
 *   HS2  A request is small, a slice is bounded, and only so many are served at a time; one more is told to come back.
 *   HS3  A snapshot of another head, or of one that has moved on, is refused with 410.
 *   HS5  Labels of many series are gathered in turns of a few milliseconds, between which samples
 *        are taken in; who has left gets none.
 *   HS4  A slow reader holds its own slice, nothing else.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { z } from "zod";
import { sleep } from "../../../../ground/kernel/clock.ts";
import { messageOf, OperatingError } from "../../../../ground/kernel/errors.ts";
import { parseQueryId, queryIdHeader } from "../../../../ground/kernel/ids.ts";
import type { LogFields, Logger } from "../../../../ground/kernel/logger.ts";
import { ConnectionGate } from "../../../../ground/kernel/node/connection-gate.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { sameSecret } from "../../../../ground/kernel/node/secrets.ts";
import { PromqlError } from "../../promql/core/index.ts";
import { isShardCount } from "../core/fingerprint.ts";
import type { HeadSnapshot } from "../core/model.ts";
import type { MetricsDb } from "./metrics-db.ts";

export interface HeadServerOptions {
  readonly db: Pick<MetricsDb, "labels" | "slice" | "snapshot"> & { url: string };
  readonly host: string;
  /** 0 for any. */
  readonly port: number;
  /** The cluster's token. */
  readonly token: string;
  readonly logger: Logger;
  /** PEM texts. With `ca`, the other side must present a certificate that it signed. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca?: string };
  /** What others reach it by; the host, where it is absent. */
  readonly advertisedHost?: string;
  readonly slicesMax?: number;
  readonly sliceBytesMax?: number;
}

export interface HeadServer {
  readonly port: number;
  readonly url: string;
  close(): Promise<void>;
}

const slicesMaxDefault = 16;
const sliceBytesMaxDefault = 1024 * 1024 * 1024;
/** Whatever fits in a work's description, of 1,000,000 characters. */
const bodyBytesMax = 4 * 1024 * 1024;
const partBytes = 256 * 1024;
const silenceMsMax = 30_000;
const headersMsMax = 5_000;
const keepAliveMs = 25_000;
const connectionsMax = 256;

const matcherBody = z.strictObject({
  name: z.string(),
  op: z.enum(["=", "!=", "=~", "!~"]),
  value: z.string(),
});

/** JSON has no infinities: they are null. */
const sliceBody = z.strictObject({
  incarnation: z.string().max(128),
  appendSeq: z.number().int().nonnegative(),
  shard: z.number().int().nonnegative(),
  shardCount: z.number().refine(isShardCount, "a power of two"),
  matchers: z.array(matcherBody).optional(),
  /** Instead: labels alone, of series that match one of them. */
  matcherSets: z.array(z.array(matcherBody)).optional(),
  minMs: z.number().nullable(),
  maxMs: z.number().nullable(),
});

const snapshotBody = z.object({
  url: z.string(),
  incarnation: z.string(),
  appendSeq: z.number(),
  minTs: z.number().nullable(),
  maxTs: z.number().nullable(),
  sampleCount: z.number(),
  seriesCount: z.number(),
});

/** Sets the url that the db's snapshots carry. */
export async function startHeadServer(options: HeadServerOptions): Promise<HeadServer> {
  const { host, tls, db } = options;
  const desk = new SliceDesk(options);
  const server = createHttpServer(tls, (request, response) => {
    desk.answer(request, response).catch((thrown: unknown) => {
      options.logger.debug(fieldsOf(request), `slice not sent: ${messageOf(thrown)}`);
      response.destroy();
    });
  });
  const limits = {
    total: connectionsMax,
    perClient: connectionsMax,
    forHealth: 0,
    bodyBytes: connectionsMax * bodyBytesMax,
    requestsWaiting: 8,
  };
  new ConnectionGate(server, limits, options.logger);
  server.timeout = silenceMsMax;
  await listen(server, options);
  const { port } = server.address() as AddressInfo;
  const shown = options.advertisedHost ?? host;
  const hostText = shown.includes(":") ? `[${shown}]` : shown;
  const url = `${tls === undefined ? "http" : "https"}://${hostText}:${port}`;
  db.url = url;
  return { port, url, close: () => close(server) };
}

function fieldsOf({ headers }: IncomingMessage): LogFields {
  const queryId = parseQueryId(String(headers[queryIdHeader] ?? ""));
  return queryId === undefined ? {} : { query_id: queryId };
}

class SliceDesk {
  readonly #options: HeadServerOptions;
  #serving = 0;

  constructor(options: HeadServerOptions) {
    this.#options = options;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { token, slicesMax = slicesMaxDefault } = this.#options;
    if (!sameSecret(`Bearer ${token}`, request.headers.authorization ?? "")) {
      refuse(response, 401, "unauthenticated", "slices are for holders of the cluster's token"); // HS1
      return;
    }
    if (request.url === "/head/snapshot" && request.method === "GET") {
      send(response, 200, snapshotJson(this.#options.db.snapshot()));
      return;
    }
    if (request.url !== "/head/slice" || request.method !== "POST") {
      refuse(response, 404, "not_found", "there are POST /head/slice and GET /head/snapshot");
      return;
    }
    if (this.#serving >= slicesMax) {
      response.setHeader("retry-after", "1");
      refuse(response, 503, "overloaded", "too many slices are being read"); // HS2
      return;
    }
    this.#serving += 1;
    try {
      await this.#serve(request, response);
    } finally {
      this.#serving -= 1;
    }
  }

  /** HS5 */
  async #labels(
    request: Parameters<MetricsDb["labels"]>[0],
    response: ServerResponse,
  ): Promise<Uint8Array> {
    const found = this.#options.db.labels(request);
    for (let turn = found.next(); ; turn = found.next()) {
      if (turn.done === true) return turn.value;
      await sleep(realClock, 0);
      if (response.destroyed) throw new OperatingError("cancelled", "never", "nobody waits");
    }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { sliceBytesMax = sliceBytesMaxDefault } = this.#options;
    const text = await readBody(request);
    const parsed = text === undefined ? undefined : parseBody(text);
    if (parsed === undefined) {
      refuse(response, 400, "bad_request", "that is no request for a slice");
      return;
    }
    let bytes: Uint8Array;
    try {
      bytes =
        "matcherSets" in parsed
          ? await this.#labels(parsed, response)
          : this.#options.db.slice(parsed);
    } catch (thrown) {
      if (thrown instanceof PromqlError) {
        refuse(response, 400, "bad_request", thrown.message); // A matcher that does not compile.
        return;
      }
      if (!(thrown instanceof OperatingError)) throw thrown;
      refuse(response, thrown.code === "head_moved" ? 410 : 500, thrown.code, thrown.message); // HS3
      return;
    }
    if (bytes.length > sliceBytesMax) {
      refuse(response, 413, "query_too_large", `the slice has ${bytes.length} bytes`);
      return;
    }
    response.writeHead(200, {
      "content-type": "application/vnd.apache.parquet",
      "content-length": bytes.length,
      "cache-control": "no-store",
    });
    if (bytes.length <= partBytes) response.end(bytes);
    else await pipeline(Readable.from(partsOf(bytes)), response); // HS4
  }
}

type Parsed = Parameters<MetricsDb["slice"]>[0] | Parameters<MetricsDb["labels"]>[0];

function parseBody(text: string): Parsed | undefined {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return undefined;
  }
  const parsed = sliceBody.safeParse(json);
  if (!parsed.success || parsed.data.shard >= parsed.data.shardCount) return undefined;
  const { incarnation, appendSeq, minMs, maxMs, shard, shardCount } = parsed.data;
  const { matchers, matcherSets } = parsed.data;
  const range = { minMs: minMs ?? -Infinity, maxMs: maxMs ?? Infinity };
  const common = { snapshot: { incarnation, appendSeq }, shard, shardCount, ...range };
  if (matcherSets !== undefined && matchers === undefined) return { ...common, matcherSets };
  return matchers === undefined || matcherSets !== undefined ? undefined : { ...common, matchers };
}

function* partsOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += partBytes) yield bytes.subarray(at, at + partBytes);
}

/** `undefined`: too long. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > bodyBytesMax) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

function createHttpServer(
  tls: HeadServerOptions["tls"],
  handler: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  const limits = {
    maxHeaderSize: 8 * 1024,
    headersTimeout: headersMsMax,
    requestTimeout: headersMsMax * 2,
    keepAliveTimeout: keepAliveMs,
    noDelay: true,
  };
  if (tls === undefined) return createServer(limits, handler);
  const { cert, key, ca } = tls;
  const mutual = ca === undefined ? {} : { ca, requestCert: true, rejectUnauthorized: true };
  return createTlsServer({ ...limits, cert, key, ...mutual }, handler);
}

function listen(server: Server, { host, port }: HeadServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const isTaken = error.code === "EADDRINUSE";
      const taken = new OperatingError("port_in_use", "never", `${host}:${port} is in use`);
      reject(isTaken ? taken : error);
    });
    server.listen(port, host, resolve);
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function refuse(response: ServerResponse, status: number, code: string, message: string): void {
  send(response, status, JSON.stringify({ code, message }));
}

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    "cache-control": "no-store",
  });
  response.end(body);
}

/** An empty head has infinite times, which JSON does not know: `parseHeadSnapshot` puts them back. */
function snapshotJson(snapshot: HeadSnapshot): string {
  return JSON.stringify(snapshot);
}

/** Throws where the text is no snapshot. */
export function parseHeadSnapshot(text: string): HeadSnapshot {
  const parsed = snapshotBody.parse(JSON.parse(text));
  return { ...parsed, minTs: parsed.minTs ?? Infinity, maxTs: parsed.maxTs ?? -Infinity };
}
