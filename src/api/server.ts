/**
 * The HTTP surface of a coordinator or a query-api: routes, errors, access and limits put together. The
 * rules are in SPEC.md.
 */
import type { AddressInfo, Socket } from "node:net";
import swagger from "@fastify/swagger";
import { type FastifyReply, type FastifyRequest, fastify } from "fastify";
import {
  serializerCompiler,
  validatorCompiler,
  type ZodTypeProvider,
} from "fastify-type-provider-zod";
import { messageOf, OperatingError } from "../kernel/errors.ts";
import { type Prng, randomText } from "../kernel/prng.ts";
import { hostPort, listenError } from "../process/index.ts";
import { type AccessConfig, installAccess } from "./access.ts";
import type { ApiApp } from "./api-app.ts";
import { defaultSseTiming, type SseTiming } from "./http/sse-channel.ts";
import { Streams } from "./http/streams.ts";
import { openApiOptions } from "./openapi.ts";
import type { ApiPorts } from "./ports.ts";
import { bodyOf, methodNotAllowed, notFound, type Problem, problemOf } from "./problem.ts";
import { installPrometheus } from "./prometheus/install.ts";
import { RouteTable } from "./route-table.ts";
import { installCluster } from "./routes/cluster.ts";
import { installDashboard } from "./routes/dashboard.ts";
import { installHealth } from "./routes/health.ts";
import { installLoadRuns } from "./routes/load-runs.ts";
import { installLoadStream } from "./routes/load-stream.ts";
import { installLoadTemplates } from "./routes/load-templates.ts";
import { installLoadTests } from "./routes/load-tests.ts";
import { installQueries } from "./routes/queries.ts";
import { installRefreshLoad } from "./routes/refresh-load.ts";
import { installStreams } from "./routes/streams.ts";
import { installTables } from "./routes/tables.ts";
import { installUploads } from "./routes/uploads.ts";
import { installSecurityHeaders } from "./security-headers.ts";

export interface ApiConfig {
  readonly host: string;
  /** 0 for any. */
  readonly port: number;
  readonly access: AccessConfig;
  readonly prng: Prng;
  readonly version: string;
  readonly dashboardDirs: readonly string[];
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly bodyBytesMax?: number;
  readonly streamsMax?: number;
  readonly sseTiming?: SseTiming;
}

export interface Api {
  readonly url: string;
  readonly port: number;
  /** From now on requests are answered with `shutting_down`, and event streams end. */
  drain(): void;
  /** Waits for answers under way; connections without one are closed. */
  close(): Promise<void>;
  /** Cuts every connection. */
  force(): void;
}

/** Well above what people, dashboards and workers need; a flood is cut off at the socket. */
const connectionsMax = 4_096;

/** A label's name may be long, and is three times as long with its escapes; Node bounds the whole address. */
const paramLengthMax = 16 * 1024;

export async function startApi(config: ApiConfig, ports: ApiPorts): Promise<Api> {
  const streams = new Streams(
    ports.clock,
    config.streamsMax ?? 256,
    config.sseTiming ?? defaultSseTiming,
  );
  const state = { draining: false };
  const app = await buildApp(config, ports, streams, state);
  app.server.maxConnections = connectionsMax;
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

async function buildApp(
  config: ApiConfig,
  ports: ApiPorts,
  streams: Streams,
  state: { readonly draining: boolean },
): Promise<ApiApp> {
  const app = fastify({
    logger: false, // Lines go through the Logger port, where secrets are removed.
    bodyLimit: config.bodyBytesMax ?? 64 * 1024,
    requestTimeout: 30_000, // To receive a request; an answer may take longer.
    keepAliveTimeout: 65_000, // Longer than the 60 s of common proxies, so that they close first.
    forceCloseConnections: "idle",
    return503OnClosing: false, // Our own refusal has the shape of all others.
    exposeHeadRoutes: true,
    routerOptions: { maxParamLength: paramLengthMax },
    genReqId: () => `req-${randomText(config.prng, 12)}`,
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: (thrown, request, reply) => {
      void answer(reply, problemOf(thrown, request.id));
    },
    ...(config.tls === undefined ? {} : { https: config.tls }),
  }).withTypeProvider<ZodTypeProvider>() as unknown as ApiApp;
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  // A web page can send text/plain anywhere without asking; JSON it cannot.
  app.removeContentTypeParser("text/plain");

  const table = new RouteTable();
  app.addHook("onRoute", (route) => table.add(route.method, route.url));
  installSecurityHeaders(app);
  installAccess(app, config.access);
  installRequestLog(app, ports);
  app.addHook("onRequest", async (request) => {
    if (!state.draining || !request.url.startsWith("/api/")) return;
    throw new OperatingError("shutting_down", "backoff", "this process is shutting down");
  });

  app.setErrorHandler((thrown, request, reply) => {
    const problem = problemOf(thrown, request.id);
    if (problem.status >= 500) logProblem(ports, request, problem, thrown);
    if (problem.code === "unauthenticated") reply.header("www-authenticate", "Bearer");
    if (problem.code === "overloaded") reply.header("retry-after", "1");
    return answer(reply, problem);
  });

  await app.register(swagger, openApiOptions(config.version));
  installHealth(app, ports);
  installCluster(app, ports);
  installQueries(app, ports);
  await installUploads(app, ports);
  installRefreshLoad(app, ports);
  installTables(app, ports);
  installStreams(app, ports, streams);
  await installLoadTemplates(app, ports);
  installLoadRuns(app, ports);
  installLoadTests(app, ports);
  await installLoadStream(app, ports, streams);
  const { version, prng } = config;
  const { stallMsMax } = config.sseTiming ?? defaultSseTiming;
  await installPrometheus(app, ports, { version, prng, streams, stallMsMax });
  app.get("/openapi.json", { config: { access: "public" }, schema: { hide: true } }, async () =>
    app.swagger(),
  );
  const dashboard = await installDashboard(app, { dirs: config.dashboardDirs });

  app.setNotFoundHandler((request, reply) => {
    const page = dashboard(request, reply);
    if (page !== undefined) return page;
    const path = request.url.replace(/[?#].*$/, "");
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

function logProblem(
  ports: ApiPorts,
  request: FastifyRequest,
  problem: Problem,
  thrown: unknown,
): void {
  const ours = problem.code === "internal";
  const fields = {
    request_id: request.id,
    method: request.method,
    route: request.routeOptions.url,
    code: problem.code,
    error: messageOf(thrown),
    stack: ours && thrown instanceof Error ? thrown.stack : undefined,
  };
  if (ours) ports.logger.error(fields, "request failed");
  else ports.logger.warn(fields, "request failed");
}

/** One line for each answer, without addresses' query parts, which may say more than a log should. */
function installRequestLog(app: ApiApp, ports: ApiPorts): void {
  app.addHook("onResponse", async (request, reply) => {
    const { access, quiet } = request.routeOptions.config;
    const fields = {
      request_id: request.id,
      method: request.method,
      route: request.routeOptions.url ?? "unknown",
      status: reply.statusCode,
      duration_ms: Math.round(reply.elapsedTime),
    };
    // Who changed what is worth a line at any time; who looked is not.
    const isChange = access === "operate" || access === "cluster";
    if (isChange && quiet !== true) ports.logger.info(fields, "answered");
    else ports.logger.debug(fields, "answered");
  });
}

/** What is not HTTP at all, or too long in its head, gets an answer in our shape as well. */
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
