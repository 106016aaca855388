/**
 * Keeps web pages of other sites away from a server on this machine. A browser that shows such a
 * page can reach 127.0.0.1, and through DNS rebinding even read the answers. A token does not help,
 * because a loopback server has none.
 *
 * The Host header must name this server: a loopback name, the bound or advertised host, or an
 * allowed one. A server bound to another address than loopback also accepts any IP address, which
 * cannot be rebound. An Origin must be this server's own or an allowed one. A request that the
 * browser marks as cross-site is refused even without an Origin, which images and scripts do not
 * send.
 */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { isLoopback } from "./bind.ts";

export interface GuardConfig {
  readonly bindHost: string;
  /** Names by which this server is reached, besides the loopback ones. */
  readonly hosts: readonly string[];
  /** Origins whose pages may call, such as `https://grafana.example.com`. */
  readonly origins: readonly string[];
}

export interface GuardedRequest {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly secFetchSite: string | undefined;
}

/** Reads the fields from a request's head. */
export function guardedRequestOf(request: IncomingMessage): GuardedRequest {
  const { origin, "sec-fetch-site": site } = request.headers;
  const { host: hosts = [] } = request.headersDistinct;
  return {
    host: hosts.length === 1 ? hosts[0] : undefined,
    origin: textOf(origin),
    secFetchSite: textOf(site),
  };
}

/**
 * A request must have one Host, since a proxy may have checked the other of two. An absolute target
 * (`GET http://name/path`) must name the same host.
 */
export function hasOneHost(request: IncomingMessage): boolean {
  const { host: hosts = [] } = request.headersDistinct;
  const named = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(request.url ?? "")?.[1];
  const [host] = hosts;
  return hosts.length === 1 && (named === undefined || named.toLowerCase() === host?.toLowerCase());
}

function textOf(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === "string" || header === undefined ? header : header.join(",");
}

export type Refusal = { readonly message: string; readonly hint: string };

export class RequestGuard {
  readonly #anyAddress: boolean;
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;

  constructor(config: GuardConfig) {
    this.#anyAddress = !isLoopback(config.bindHost);
    const named = [config.bindHost, ...config.hosts].map((host) => hostNameOf(host) ?? host);
    this.#hosts = new Set(named.map((host) => host.toLowerCase()));
    this.#origins = new Set(
      config.origins.map((origin) => origin.replace(/\/$/, "").toLowerCase()),
    );
  }

  /** Undefined when the request is allowed. */
  refuse(request: GuardedRequest): Refusal | undefined {
    const name = hostNameOf(request.host);
    if (name === undefined || !this.#isOurs(name)) {
      return {
        message: `the Host ${JSON.stringify(request.host ?? "")} is not a name of this server`,
        hint: "Start it with --allow-host NAME if it should be.",
      };
    }
    const { origin } = request;
    if (origin !== undefined) {
      if (this.#origins.has(origin.toLowerCase())) return undefined;
      if (!isSameOrigin(origin, request.host))
        return foreign(`the origin ${JSON.stringify(origin)}`);
    }
    const site = request.secFetchSite;
    if (site === undefined || site === "same-origin" || site === "none") return undefined;
    return foreign("a page of another site");
  }

  #isOurs(name: string): boolean {
    if (isLoopback(name) || this.#hosts.has(name)) return true;
    return this.#anyAddress && isIP(name.replace(/^\[|\]$/g, "")) !== 0;
  }
}

function foreign(who: string): Refusal {
  return {
    message: `requests from ${who} are refused`,
    hint: "Start it with --allow-origin ORIGIN if pages there should drive this cluster.",
  };
}

/** Ignores the scheme: a proxy that ends TLS is still the same server. */
function isSameOrigin(origin: string, host: string | undefined): boolean {
  const match = /^https?:\/\/([^/]+)$/i.exec(origin);
  return match?.[1] !== undefined && match[1].toLowerCase() === host?.toLowerCase();
}

/** The name in `name`, `name:port`, `1.2.3.4:port`, `[::1]:port` or `::1`, in lower case. */
function hostNameOf(host: string | undefined): string | undefined {
  if (host === undefined) return undefined;
  if (isIP(host) === 6) return host.toLowerCase();
  const match = /^(?:\[([0-9a-f:.]+)\]|([^\s/@:[\]]+))(?::\d{1,5})?$/i.exec(host);
  return (match?.[1] ?? match?.[2])?.toLowerCase();
}
