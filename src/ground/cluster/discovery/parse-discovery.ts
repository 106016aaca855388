/** Parses `--discover`: where workers are found. */

import type { Clock } from "../../kernel/clock.ts";
import { OperatingError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Discovery, Target } from "../core/index.ts";
import { dnsDiscovery } from "./dns-discovery.ts";
import { createNodeDnsResolver } from "./node-dns-resolver.ts";
import { staticDiscovery } from "./static-discovery.ts";

/** Undefined for the store's workers table. */
export function parseDiscovery(text: string, clock: Clock, logger: Logger): Discovery | undefined {
  if (text === "store") return undefined;
  const [, kind, rest] = /^(static|dns|srv):(.+)$/.exec(text) ?? [];
  if (kind === undefined || rest === undefined) throw bad(text);
  if (kind === "static")
    return staticDiscovery(rest.split(",").map((part) => targetOf(part, text)));
  const resolver = createNodeDnsResolver();
  if (kind === "srv") return dnsDiscovery({ name: rest, clock, resolver, logger });
  const { address } = targetOf(rest, text);
  return dnsDiscovery({ name: address.host, port: address.grpcPort, clock, resolver, logger });
}

function targetOf(part: string, text: string): Target {
  const match = /^\[?([^\]]+?)\]?:(\d{1,5})$/.exec(part.trim());
  const port = Number(match?.[2]);
  if (match?.[1] === undefined || port < 1 || port > 65_535) throw bad(text);
  return { address: { host: match[1], grpcPort: port } };
}

function bad(text: string): OperatingError {
  const message = `--discover: ${JSON.stringify(text)} is not a way to find workers`;
  const hint = "It is store, static:HOST:PORT,HOST:PORT, dns:NAME:PORT or srv:NAME.";
  return new OperatingError("bad_request", "never", message, { hint });
}
