/** A scenario's target. Each kind's client is loaded only when it is used. */
import type { Clock } from "../../kernel/clock.ts";
import { unreachable } from "../../kernel/errors.ts";
import type { TargetConfig } from "../core/scenario.ts";
import type { Target } from "../core/target.ts";
import { checkTargetHost } from "../core/target-host.ts";

export interface TargetOptions {
  /** What the target's own history calls this load by, where it can: Snowflake's QUERY_TAG. */
  readonly tag: string;
}

/**
 * Nothing is connected yet. `secret` is the password, or the token of an HTTP server without a user. Rejects with `bad_request` for
 * a URL that is none of the kind, `forbidden` for a host that may not be loaded, `unsupported` for a client that is not installed.
 */
export async function openTarget(
  config: TargetConfig,
  secret: string | null,
  clock: Clock,
  options: TargetOptions = { tag: "capstan-load" },
): Promise<Target> {
  const { kind } = config;
  switch (kind) {
    case "postgres": {
      const { parsePostgresUrl } = await import("./postgres/parse-postgres-url.ts");
      const { createPostgresTarget } = await import("./postgres/postgres-target.ts");
      const url = withPassword(config.url, secret);
      checkTargetHost(config, parsePostgresUrl(url).host);
      return createPostgresTarget(url, clock);
    }
    case "mysql": {
      const { parseMysqlUrl } = await import("./mysql/parse-mysql-url.ts");
      const { createMysqlTarget } = await import("./mysql/mysql-target.ts");
      const url = withPassword(config.url, secret);
      const { host, socketPath } = parseMysqlUrl(url);
      checkTargetHost(config, socketPath ?? host);
      return createMysqlTarget(url, clock);
    }
    case "http": {
      const { parseHttpUrl } = await import("./http/parse-http-url.ts");
      const { createHttpTarget } = await import("./http/http-target.ts");
      const { host, socketPath } = parseHttpUrl(config.url, secret);
      checkTargetHost(config, socketPath ?? host);
      return createHttpTarget(config.url, secret, clock);
    }
    case "sqlite": {
      const { createSqliteTarget } = await import("./sqlite/sqlite-target.ts");
      return createSqliteTarget(config.url, clock);
    }
    case "duckdb": {
      const { createDuckdbTarget } = await import("./duckdb/duckdb-target.ts");
      return createDuckdbTarget(config.url, clock);
    }
    case "snowflake": {
      const { parseSnowflakeUrl } = await import("./snowflake/parse-snowflake-url.ts");
      const address = parseSnowflakeUrl(config.url, secret, config.warehouse);
      checkTargetHost(config, address.host);
      const { createSnowflakeTarget } = await import("./snowflake/snowflake-target.ts");
      return createSnowflakeTarget(address, options.tag, clock);
    }
    default:
      return unreachable(kind);
  }
}

/** Exported for its test alone. */
export function withPassword(text: string, secret: string | null): string {
  if (secret === null || !URL.canParse(text)) return text;
  const url = new URL(text);
  // A URL without a host, for a socket, cannot have a password; the socket replaces the host anyway.
  if (url.host === "") url.host = "localhost";
  url.password = encodeURIComponent(secret);
  return url.href;
}
