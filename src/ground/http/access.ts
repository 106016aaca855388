/** Decides who may call a route, before a body is read. Rule: AP8. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { assert, OperatingError } from "../kernel/errors.ts";
import { sameSecret } from "../kernel/node/secrets.ts";
import {
  bearerToken,
  guardedRequestOf,
  hasOneHost,
  type RequestGuard,
  type TokenBook,
} from "../process/index.ts";

/** `public`: everyone who passes the guard. `cluster`: a caller with the cluster's token. */
export type Access = "public" | "read" | "operate" | "cluster";

declare module "fastify" {
  interface FastifyContextConfig {
    access?: Access;
    /** Answers are not logged, because the route is called too often. */
    quiet?: boolean;
  }
  interface FastifyRequest {
    /**
     * Whether the caller has the role operate, for routes where the need depends on the request.
     */
    mayOperate?: boolean;
  }
}

export interface AccessConfig {
  readonly guard: RequestGuard;
  readonly tokens: TokenBook;
  readonly clusterToken: string;
}

export function installAccess(app: FastifyInstance, config: AccessConfig): void {
  app.addHook("onRoute", (route) => {
    assert(route.config?.access !== undefined, `the route ${route.url} says who may call it`);
  });
  app.addHook("onRequest", async (request) => {
    refuseForeign(request, config.guard);
    const access = request.routeOptions.config.access ?? "public";
    if (access === "cluster") checkClusterToken(request, config.clusterToken);
    else if (access !== "public") checkRole(request, access, config.tokens);
  });
}

function refuseForeign(request: FastifyRequest, guard: RequestGuard): void {
  if (!hasOneHost(request.raw)) {
    throw new OperatingError("bad_request", "never", "a request has one Host header");
  }
  const asked = guardedRequestOf(request.raw);
  // A link from another site to a page of the dashboard is allowed: it opens in its own window and
  // is marked, so that the page computes nothing by itself. Every path with a route may compute.
  const isPage = request.is404 && request.method === "GET" && !request.url.startsWith("/api/");
  const followsLink = isPage && request.headers["sec-fetch-mode"] === "navigate";
  const refusal = guard.refuse(
    followsLink && asked.origin === undefined ? { ...asked, secFetchSite: undefined } : asked,
  );
  if (refusal === undefined) return;
  throw new OperatingError("forbidden", "never", refusal.message, { hint: refusal.hint });
}

function checkRole(request: FastifyRequest, needed: "read" | "operate", tokens: TokenBook): void {
  request.mayOperate = true;
  if (tokens.size === 0) return;
  const token = bearerToken(request.headers.authorization) ?? protocolToken(request);
  const role = token === undefined ? undefined : tokens.roleOf(token);
  if (role === undefined) throw unauthenticated(token, "CAPSTAN_TOKEN");
  request.mayOperate = role !== "read";
  if (needed === "operate" && role === "read") {
    throw new OperatingError("forbidden", "never", "this token may read, not operate", {
      hint: "Use a token with the role operate.",
    });
  }
}

/** Browsers cannot send a header with a WebSocket, so the token is sent as a subprotocol. */
function protocolToken({ headers }: FastifyRequest): string | undefined {
  if (text(headers.upgrade)?.toLowerCase() !== "websocket") return undefined;
  const offered = text(headers["sec-websocket-protocol"])?.split(/\s*,\s*/) ?? [];
  return offered.find((each) => each.startsWith("bearer."))?.slice("bearer.".length);
}

function checkClusterToken(request: FastifyRequest, clusterToken: string): void {
  const token = bearerToken(request.headers.authorization);
  if (token !== undefined && sameSecret(clusterToken, token)) return;
  throw unauthenticated(token, "CAPSTAN_CLUSTER_TOKEN");
}

function unauthenticated(token: string | undefined, variable: string): OperatingError {
  const message = token === undefined ? "a token is needed" : "this token is not known here";
  return new OperatingError("unauthenticated", "never", message, {
    hint: `Send it as Authorization: Bearer TOKEN; the command line takes it from ${variable}.`,
  });
}

function text(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === "string" || header === undefined ? header : header.join(",");
}
