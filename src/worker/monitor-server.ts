/** `/healthz`, `/readyz` and `/metrics` of a worker, which has no other HTTP surface for people. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Metrics } from "../observe/index.ts";
import { bearerToken, isLoopback, listenError, RequestGuard } from "../process/index.ts";

export interface MonitorConfig {
  readonly host: string;
  readonly port: number;
  /** Names that it is reached by, besides the loopback ones. */
  readonly hosts: readonly string[];
  readonly metrics: Metrics;
  ready(): { readonly ready: boolean; readonly reason?: string };
  /** Whether whoever shows this token may read the metrics. Asked only beyond this machine. */
  mayRead(token: string): boolean;
}

export interface Monitor {
  readonly port: number;
  close(): Promise<void>;
}

export async function startMonitor(config: MonitorConfig): Promise<Monitor> {
  const guard = new RequestGuard({ bindHost: config.host, hosts: config.hosts, origins: [] });
  const server = createServer((request, response) => {
    answer(request, response, guard, config).catch(() => send(response, 500, { code: "internal" }));
  });
  server.requestTimeout = 10_000;
  server.maxConnections = 64;
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

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  guard: RequestGuard,
  config: MonitorConfig,
): Promise<void> {
  const { host, origin, authorization, "sec-fetch-site": site } = request.headers;
  const secFetchSite = typeof site === "string" ? site : undefined;
  const refusal = guard.refuse({ host, origin, secFetchSite });
  if (refusal !== undefined) return send(response, 403, { code: "forbidden", ...refusal });
  const path = (request.url ?? "").replace(/\?.*$/, "");
  if (request.method !== "GET") {
    return send(response, 405, { code: "method_not_allowed", message: `${path} takes GET` });
  }
  if (path === "/healthz") return send(response, 200, { ok: true });
  if (path === "/readyz") {
    const state = config.ready();
    return send(response, state.ready ? 200 : 503, state);
  }
  if (path !== "/metrics") {
    return send(response, 404, { code: "not_found", message: `there is nothing at ${path}` });
  }
  const token = bearerToken(authorization);
  if (!isLoopback(config.host) && (token === undefined || !config.mayRead(token))) {
    return send(response, 401, { code: "unauthenticated", message: "a token is needed" });
  }
  const text = await config.metrics.text();
  response.writeHead(200, { "content-type": config.metrics.contentType });
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
