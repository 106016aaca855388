/**
 * Serves a worker's artifacts to controllers: `GET /artifacts/NAME` with the cluster's token.
 * Rules: QU5, QU50, QU51. An answer has the promised length, or the connection breaks. Connections
 * are limited, and a stalled one is closed. On the same port kinds of work may take HTTP/2.
 */
import { type FileHandle, open } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream/promises";
import { messageOf, OperatingError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import { isBearer } from "../../kernel/node/cluster-token.ts";
import { ConnectionGate } from "../../kernel/node/connection-gate.ts";
import type { TlsFiles } from "../../kernel/tls.ts";
import { workLogFields } from "../core/assignment/index.ts";
import type { ArtifactSpool, SpooledFile } from "../core/index.ts";
import { alpnProtocols, type Http2Handler, takeHttp2 } from "./http2-beside.ts";

export interface ArtifactServerOptions {
  readonly host: string;
  /** 0 chooses any free port. */
  readonly port: number;
  /** The cluster's token. */
  readonly token: string;
  readonly spool: Pick<ArtifactSpool, "stat">;
  readonly logger: Logger;
  readonly tls?: TlsFiles;
  /** Takes streams of HTTP/2, and checks who sends them; absent: none are taken. */
  readonly http2?: Http2Handler;
  readonly connectionsMax?: number;
}

export interface ArtifactServer {
  readonly port: number;
  /** `http://host:port` or `https://host:port`. */
  readonly url: string;
  /** Terminates transfers; drain first to avoid that. */
  close(): Promise<void>;
}

const connectionsMaxDefault = 256;
const headerBytesMax = 8 * 1024;
const headersMsMax = 5_000;
const silenceMsMax = 30_000;
const keepAliveMs = 25_000;
const pathPattern = /^\/artifacts\/([A-Za-z0-9][A-Za-z0-9_.-]{0,199})$/;
/** Files up to this size are sent in one write. */
const sendAtOnceBytesMax = 256 * 1024;

export async function startArtifactServer(options: ArtifactServerOptions): Promise<ArtifactServer> {
  const { host, tls, http2 } = options;
  const server = createHttpServer(options, (request, response) => {
    void answer(options, request, response);
  });
  const streams = http2 && takeHttp2(server, tls !== undefined, http2);
  const { connectionsMax: total = connectionsMaxDefault, logger } = options;
  // A silent connection is closed first; a worker may have only one client.
  const limits = {
    total,
    perClient: total,
    forHealth: 0,
    bodyBytes: headerBytesMax,
    requestsWaiting: 8,
  };
  new ConnectionGate(server, limits, logger);
  server.timeout = silenceMsMax;
  await listen(server, options);
  const { port } = server.address() as AddressInfo;
  const hostText = host.includes(":") ? `[${host}]` : host;
  return {
    port,
    url: `${tls === undefined ? "http" : "https"}://${hostText}:${port}`,
    close: () => {
      streams?.close();
      return close(server);
    },
  };
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

function createHttpServer({ tls, http2 }: ArtifactServerOptions, handler: Handler): Server {
  const limits = {
    maxHeaderSize: headerBytesMax,
    headersTimeout: headersMsMax,
    requestTimeout: headersMsMax,
    keepAliveTimeout: keepAliveMs,
    noDelay: true,
  };
  if (tls === undefined) return createServer(limits, handler);
  const { cert, key, ca } = tls;
  const mutual = ca === undefined ? {} : { ca, requestCert: true, rejectUnauthorized: true };
  const protocols = http2 === undefined ? {} : { ALPNProtocols: alpnProtocols };
  return createTlsServer({ ...limits, cert, key, ...mutual, ...protocols }, handler);
}

function listen(server: Server, { host, port }: ArtifactServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const isTaken = error.code === "EADDRINUSE";
      reject(isTaken ? portInUse(host, port) : error);
    });
    server.listen(port, host, resolve);
  });
}

function portInUse(host: string, port: number): OperatingError {
  return new OperatingError("port_in_use", "never", `${host}:${port} is in use`);
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

async function answer(
  { token, spool, logger }: ArtifactServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (!isBearer(request.headers.authorization, token)) {
    // QU50
    refuse(response, 401, "unauthenticated", "artifacts are for holders of the cluster's token");
    return;
  }
  if (request.method !== "GET" && request.method !== "HEAD") {
    response.setHeader("allow", "GET, HEAD");
    refuse(response, 405, "bad_request", "artifacts are read with GET or HEAD");
    return;
  }
  const name = pathPattern.exec(request.url ?? "")?.[1];
  const file = name === undefined ? undefined : spool.stat(name); // QU51
  if (file === undefined) {
    refuse(response, 404, "not_found", "there is no such artifact");
    return;
  }
  try {
    await send(file, request.method === "HEAD", response);
  } catch (thrown) {
    // The client went away, or the file did. Nothing more can be sent on this connection.
    logger.debug(workLogFields(file.key), `artifact not sent: ${messageOf(thrown)}`);
    response.destroy();
  }
}

async function send(
  { content, sizeBytes }: SpooledFile,
  isHead: boolean,
  response: ServerResponse,
): Promise<void> {
  const headers = {
    "content-type": "application/vnd.apache.parquet",
    "content-length": sizeBytes,
    "cache-control": "no-store",
  };
  if (typeof content !== "string") {
    response.writeHead(200, headers).end(isHead ? undefined : content);
    return;
  }
  const file = await openOrUndefined(content);
  if (file === undefined) {
    refuse(response, 404, "not_found", "there is no such artifact"); // Deleted this moment.
    return;
  }
  try {
    response.writeHead(200, headers);
    if (isHead) {
      response.end();
    } else if (sizeBytes <= sendAtOnceBytesMax) {
      const bytes = await file.readFile();
      if (bytes.length !== sizeBytes) throw new Error(`the file has ${bytes.length} bytes`);
      response.end(bytes);
    } else {
      const stream = file.createReadStream({ autoClose: false, end: sizeBytes - 1 });
      await pipeline(stream, response);
    }
  } finally {
    await file.close();
  }
}

async function openOrUndefined(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, "r");
  } catch {
    return undefined;
  }
}

function refuse(response: ServerResponse, status: number, code: string, message: string): void {
  const body = JSON.stringify({ code, message });
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
  });
  response.end(body);
}
