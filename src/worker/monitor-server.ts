/**
 * A worker's only HTTP server for people: `/healthz`, `/readyz` and `/metrics`. The first two are
 * also at Prometheus's names, `/-/healthy` and `/-/ready`.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { PartHealth } from "../ground/kernel/health.ts";
import { type Logger, silentLogger } from "../ground/kernel/logger.ts";
import { ConnectionGate } from "../ground/kernel/node/connection-gate.ts";
import type { Metrics } from "../ground/observe/index.ts";
import {
  bearerToken,
  guardedRequestOf,
  gzipAnswer,
  hasOneHost,
  isLoopback,
  listenError,
  RequestGuard,
  takesGzip,
} from "../ground/process/index.ts";

export interface MonitorConfig {
  readonly host: string;
  readonly port: number;
  /** Names by which the server is reached, besides the loopback ones. */
  readonly hosts: readonly string[];
  readonly metrics: Metrics;
  readonly logger?: Logger;
  ready(): {
    readonly ready: boolean;
    readonly reason?: string;
    readonly parts: readonly PartHealth[];
  };
  /** Whether this token may read the metrics. Called only for requests from other machines. */
  mayRead(token: string): boolean;
}

export interface Monitor {
  readonly port: number;
  close(): Promise<void>;
}

const connectionLimits = {
  total: 64,
  perClient: 48,
  forHealth: 8,
  bodyBytes: 1024 ** 2,
  requestsWaiting: 8,
};

export async function startMonitor(config: MonitorConfig): Promise<Monitor> {
  const guard = new RequestGuard({ bindHost: config.host, hosts: config.hosts, origins: [] });
  const server = createServer((request, response) => {
    if (gate.isRestricted(request)) response.setHeader("connection", "close");
    answer({ request, response, config, gate }, guard).catch(() =>
      send(response, 500, { code: "internal" }),
    );
  });
  server.requestTimeout = 10_000;
  const { logger = silentLogger } = config;
  const gate = new ConnectionGate(server, connectionLimits, logger, undefined, isHealth);
  server.listen(config.port, config.host);
  try {
    await once(server, "listening");
  } catch (thrown) {
    throw listenError(thrown, config.host, config.port, "--metrics-port");
  }
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.close();
      server.closeAllConnections();
      if (server.listening) await once(server, "close");
    },
  };
}

const healthPaths: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/-/healthy", "/-/ready"]);

function isHealth({ url }: IncomingMessage): boolean {
  return healthPaths.has(url ?? "");
}

interface Asked {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly config: MonitorConfig;
  readonly gate: ConnectionGate;
}

async function answer(asked: Asked, guard: RequestGuard): Promise<void> {
  const { request, response, config } = asked;
  if (!hasOneHost(request)) {
    return send(response, 400, { code: "bad_request", message: "a request has one Host header" });
  }
  const refusal = guard.refuse(guardedRequestOf(request));
  if (refusal !== undefined) return send(response, 403, { code: "forbidden", ...refusal });
  const path = (request.url ?? "").replace(/\?.*$/, "");
  if (request.method !== "GET" && !(request.method === "HEAD" && healthPaths.has(path))) {
    return send(response, 405, { code: "method_not_allowed", message: `${path} takes GET` });
  }
  if (path === "/metrics") return await answerMetrics(asked);
  if (path === "/healthz") return send(response, 200, { ok: true });
  if (path === "/readyz") {
    const { parts, ...state } = config.ready();
    const shown = parts.map(({ sinceMs, ...part }) => ({ ...part, since_ms: sinceMs }));
    return send(response, state.ready ? 200 : 503, { ...state, parts: shown });
  }
  if (path === "/-/healthy") return sendText(response, 200, "Capstan is healthy.\n");
  if (path === "/-/ready") {
    const { ready } = config.ready();
    return sendText(response, ready ? 200 : 503, `Capstan is ${ready ? "" : "not "}ready.\n`);
  }
  return send(response, 404, { code: "not_found", message: `there is nothing at ${path}` });
}

async function answerMetrics({ request, response, config, gate }: Asked): Promise<void> {
  if (gate.isRestricted(request)) {
    return send(response, 503, { code: "overloaded", message: "all connections are busy" });
  }
  const token = bearerToken(request.headers.authorization);
  if (!isLoopback(config.host) && (token === undefined || !config.mayRead(token))) {
    return send(response, 401, { code: "unauthenticated", message: "a token is needed" });
  }
  const { contentType, text } = await config.metrics.exposition(request.headers.accept);
  const bytes = Buffer.from(text);
  const small = takesGzip(request) ? await gzipAnswer(bytes) : undefined;
  response.writeHead(200, {
    "content-type": contentType,
    vary: "accept-encoding",
    ...(small === undefined ? {} : { "content-encoding": "gzip" }),
  });
  response.end(small ?? bytes);
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8" });
  response.end(text);
}

function send(response: ServerResponse, status: number, body: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "x-content-type-options": "nosniff",
  });
  response.end(JSON.stringify(body));
}
