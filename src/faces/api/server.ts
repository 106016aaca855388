/**
 * The HTTP surface of a coordinator or a query-api: routes, errors, access and limits. SPEC.md has
 * the rules.
 */
import type { AddressInfo, Socket } from "node:net";
import swagger from "@fastify/swagger";
import websocket from "@fastify/websocket";
import { type FastifyReply, fastify } from "fastify";
import {
  serializerCompiler,
  validatorCompiler,
  type ZodTypeProvider,
} from "fastify-type-provider-zod";
import type { ApiApp } from "../../ground/http/index.ts";
import {
  type AccessConfig,
  bodyOf,
  defaultSseTiming,
  installAccess,
  installCompression,
  methodNotAllowed,
  notFound,
  type Problem,
  problemOf,
  queryFields,
  type SseTiming,
  Streams,
} from "../../ground/http/index.ts";
import { messageOf, OperatingError } from "../../ground/kernel/errors.ts";
import { ConnectionGate } from "../../ground/kernel/node/connection-gate.ts";
import { type Prng, randomText } from "../../ground/kernel/prng.ts";
import { hostPort, type Limits, listenError, usualLimits } from "../../ground/process/index.ts";
import { Attention } from "./attention.ts";
import { openApiOptions } from "./openapi.ts";
import type { ApiPorts } from "./ports.ts";
import { RouteTable } from "./route-table.ts";
import { installCluster } from "./routes/cluster.ts";
import { installDashboard } from "./routes/dashboard.ts";
import { installHealth } from "./routes/health.ts";
import { installLive } from "./routes/live.ts";
import { installSecurityHeaders } from "./security-headers.ts";

export interface ApiConfig {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly access: AccessConfig;
  readonly prng: Prng;
  readonly version: string;
  readonly dashboardDirs: readonly string[];
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly limits?: Limits;
  readonly bodyBytesMax?: number;
  readonly sseTiming?: SseTiming;
}

export interface Api {
  readonly url: string;
  readonly port: number;
  /** Requests are answered with `shutting_down` from now on, and event streams end. */
  drain(): void;
  /** Waits for answers under way. Idle connections are closed. */
  close(): Promise<void>;
  /** Cuts every connection. */
  force(): void;
}

/** The limits for receiving the head of a request, and all of it. An answer may take longer. */
const headMsMax = 10_000;
const requestMsMax = 30_000;
const timeoutsLookMs = 1_000;

/** Paths that are answered however many connections there are. */
const healthPaths: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/-/healthy", "/-/ready"]);

/** A label's name can be long, and escapes triple its length. Node limits the whole address. */
const paramLengthMax = 16 * 1024;

export async function startApi(config: ApiConfig, ports: ApiPorts): Promise<Api> {
  const streams = new Streams(
    ports.clock,
    config.limits ?? usualLimits,
    config.sseTiming ?? defaultSseTiming,
  );
  const state: ApiState = { draining: false, gate: undefined };
  const app = await buildApp(config, ports, streams, state);
  state.gate = openGate(app, config, ports);
  try {
    await app.listen({ host: config.host, port: config.port });
  } catch (thrown) {
    throw listenError(thrown, config.host, config.port, "--port");
  }
  const { port } = app.server.address() as AddressInfo;
  return {
    port,
    url: `${config.tls === undefined ? "http" : "https"}://${hostPort(config.host, port)}`,
    drain() {
      state.draining = true;
      streams.endAll();
    },
    close: async () => await app.close(),
    force: () => app.server.closeAllConnections(),
  };
}

interface ApiState {
  draining: boolean;
  gate: ConnectionGate | undefined;
}

function openGate(
  app: ApiApp,
  { limits = usualLimits, sseTiming = defaultSseTiming }: ApiConfig,
  ports: ApiPorts,
) {
  const connectionLimits = {
    total: limits.connections,
    perClient: limits.connections_per_client,
    forHealth: limits.connections_for_health,
    bodyBytes: limits.request_bytes,
    requestsWaiting: limits.requests_per_connection,
    stallMs: sseTiming.stallMsMax,
  };
  const { logger, clock } = ports;
  return new ConnectionGate(app.server, connectionLimits, logger, clock, isHealth);
}

function isHealth({ url = "" }: { readonly url?: string | undefined }): boolean {
  return healthPaths.has(url.replace(/\?.*$/, ""));
}

/** Refuses requests beyond the connection limit, except for health (AP39). */
function refuseBeyond(app: ApiApp, state: ApiState, { limits = usualLimits }: ApiConfig): void {
  app.addHook("onRequest", async (request, reply) => {
    if (state.gate?.isRestricted(request.raw) !== true) return;
    reply.header("connection", "close");
    if (isHealth(request)) return;
    const { connections: all, connections_per_client: perClient } = limits;
    const message = `all connections are busy; the limit connections_per_client is ${perClient}, connections ${all}`;
    throw new OperatingError("overloaded", "backoff", message, {
      hint: "Close some, or start the coordinator with --limit connections_per_client=N.",
    });
  });
}

async function buildApp(
  config: ApiConfig,
  ports: ApiPorts,
  streams: Streams,
  state: ApiState,
): Promise<ApiApp> {
  const timeouts = { headersTimeout: headMsMax, connectionsCheckingInterval: timeoutsLookMs };
  const app = fastify({
    logger: false, // The Logger port logs instead, and removes secrets.
    bodyLimit: config.bodyBytesMax ?? 64 * 1024,
    requestTimeout: requestMsMax,
    keepAliveTimeout: 65_000, // Longer than the 60 s of common proxies, so that they close first.
    forceCloseConnections: "idle",
    return503OnClosing: false, // Our own refusal has the usual body.
    exposeHeadRoutes: true,
    routerOptions: { maxParamLength: paramLengthMax },
    genReqId: () => `req-${randomText(config.prng, 12)}`,
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: (thrown, request, reply) => {
      void answer(reply, problemOf(thrown, request.id));
    },
    ...(config.tls === undefined
      ? { http: timeouts }
      : { https: { ...config.tls, ...timeouts, handshakeTimeout: headMsMax } }),
  }).withTypeProvider<ZodTypeProvider>() as unknown as ApiApp;
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  // A web page can send text/plain to any site without a CORS preflight, but not JSON.
  app.removeContentTypeParser("text/plain");

  // Before every hook that refuses: it marks upgrades and closes the connection of a refused one.
  await app.register(websocket, {
    options: {
      maxPayload: 1024, // Clients send nothing on a WebSocket.
      handleProtocols: (offered: Set<string>) => (offered.has("capstan") ? "capstan" : false),
    },
  });
  const table = new RouteTable();
  app.addHook("onRoute", (route) => table.add(route.method, route.url));
  installSecurityHeaders(app);
  installCompression(app);
  refuseBeyond(app, state, config);
  installAccess(app, config.access);
  installRequestLog(app, ports);
  app.addHook("onRequest", async (request) => {
    if (!state.draining || !request.url.startsWith("/api/")) return;
    throw new OperatingError("shutting_down", "backoff", "this process is shutting down");
  });

  app.setErrorHandler((thrown, request, reply) => {
    const problem = problemOf(thrown, request.id);
    if (problem.status >= 500) logProblem(ports, reply, problem, thrown);
    if (problem.code === "unauthenticated") reply.header("www-authenticate", "Bearer");
    if (problem.status === 429) reply.header("retry-after", "1");
    return answer(reply, problem);
  });

  await app.register(swagger, openApiOptions(config.version));
  installHealth(app, ports);
  const attention = new Attention(ports);
  installCluster(app, ports, attention);
  installLive(app, ports, streams, attention);
  const { clock, logger } = ports;
  const { prng, version, limits = usualLimits } = config;
  for (const install of ports.routes) {
    await install(app, { clock, logger, prng, version, limits, streams });
  }
  let description: string | undefined; // Constant once all routes are installed.
  app.get("/openapi.json", { config: { access: "public" }, schema: { hide: true } }, (_, reply) => {
    description ??= JSON.stringify(app.swagger());
    return reply.type("application/json; charset=utf-8").serializer(String).send(description);
  });
  const dashboard = await installDashboard(app, { dirs: config.dashboardDirs });

  app.setNotFoundHandler((request, reply) => {
    const page = dashboard(request, reply);
    if (page !== undefined) return page;
    const path = request.url.replace(/[?#].*$/, "");
    if (ports.absent !== undefined && path.startsWith("/api/")) {
      const hint = "Ask a coordinator.";
      throw new OperatingError("unsupported", "never", ports.absent, { hint });
    }
    const allowed = table.methodsOf(path);
    if (allowed.length === 0) return answer(reply, notFound(path));
    reply.header("allow", allowed.join(", "));
    return answer(reply, methodNotAllowed(request.method, path, allowed.join(", ")));
  });
  await app.ready();
  return app;
}

function answer(reply: FastifyReply, problem: Problem): FastifyReply {
  return reply
    .code(problem.status)
    .type("application/json; charset=utf-8")
    .serializer((value: unknown) => JSON.stringify(value))
    .send(bodyOf(problem));
}

function logProblem(ports: ApiPorts, reply: FastifyReply, problem: Problem, thrown: unknown): void {
  const { request } = reply;
  const ours = problem.code === "internal";
  const fields = {
    request_id: request.id,
    method: request.method,
    route: request.routeOptions.url,
    ...queryFields(reply),
    code: problem.code,
    error: messageOf(thrown),
    stack: ours && thrown instanceof Error ? thrown.stack : undefined,
  };
  if (ours) ports.logger.error(fields, "request failed");
  else ports.logger.warn(fields, "request failed");
}

/** Logs one line per answer, without query strings, which may contain private data. */
function installRequestLog(app: ApiApp, ports: ApiPorts): void {
  app.addHook("onResponse", async (request, reply) => {
    const { access, quiet } = request.routeOptions.config;
    const fields = {
      request_id: request.id,
      ...queryFields(reply),
      method: request.method,
      route: request.routeOptions.url ?? "unknown",
      status: reply.statusCode,
      duration_ms: Math.round(reply.elapsedTime),
    };
    // Changes are always worth a line. Reads are not.
    const isChange = access === "operate" || access === "cluster";
    if (isChange && quiet !== true) ports.logger.info(fields, "answered");
    else ports.logger.debug(fields, "answered");
  });
}

/** Answers requests that are not HTTP, or whose head is too long, with the usual body. */
function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, code, message] =
    error.code === "HPE_HEADER_OVERFLOW"
      ? [
          "431 Request Header Fields Too Large",
          "headers_too_large",
          "the request's headers are too large",
        ]
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? ["408 Request Timeout", "deadline_exceeded", "the request did not arrive in time"]
        : ["400 Bad Request", "bad_request", "this is not an HTTP request that can be read"];
  const body = JSON.stringify({ code, message });
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
