/**
 * Serves slices of the head to workers (`POST /head/slice`), and snapshots to replicas that answer
 * queries (`GET /head/snapshot`). It runs in the thread that owns the head. Rules: MH14, MH15,
 * MH30.
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
  /** 0 chooses any free port. */
  readonly port: number;
  readonly token: string;
  readonly logger: Logger;
  /** PEM texts. With `ca`, clients must present a certificate that it signed. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca?: string };
  /** The host that others connect to. Defaults to the host. */
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
/** More than any task description, which has at most 1,000,000 characters. */
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

/** Null stands for an infinity, which JSON does not have. */
const sliceBody = z.strictObject({
  incarnation: z.string().max(128),
  appendSeq: z.number().int().nonnegative(),
  shard: z.number().int().nonnegative(),
  shardCount: z.number().refine(isShardCount, "a power of two"),
  matchers: z.array(matcherBody).optional(),
  /** If present, the answer has only labels, of series that match one of these sets. */
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

/** Also sets the URL in the snapshots of the database. */
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
      refuse(response, 401, "unauthenticated", "slices are for holders of the cluster's token");
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
      refuse(response, 503, "overloaded", "too many slices are being read");
      return;
    }
    this.#serving += 1;
    try {
      await this.#serve(request, response);
    } finally {
      this.#serving -= 1;
    }
  }

  /** Gathers labels in short turns, so that appends go on; stops when the client left. */
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
        refuse(response, 400, "bad_request", thrown.message); // A matcher did not compile.
        return;
      }
      if (!(thrown instanceof OperatingError)) throw thrown;
      // 410: the snapshot is of another head, or too old.
      refuse(response, thrown.code === "head_moved" ? 410 : 500, thrown.code, thrown.message);
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
    // A slow reader keeps only its own slice in memory.
    else await pipeline(Readable.from(partsOf(bytes)), response);
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

/** Undefined when the body is too long. */
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

/** Times of an empty head are infinite, which JSON has not; `parseHeadSnapshot` restores them. */
function snapshotJson(snapshot: HeadSnapshot): string {
  return JSON.stringify(snapshot);
}

/** Throws when the text is not a snapshot. */
export function parseHeadSnapshot(text: string): HeadSnapshot {
  const parsed = snapshotBody.parse(JSON.parse(text));
  return { ...parsed, minTs: parsed.minTs ?? Infinity, maxTs: parsed.maxTs ?? -Infinity };
}
