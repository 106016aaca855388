/** A scenario's target. Each kind's client is loaded only when it is used. */
import type { Clock } from "../../../ground/kernel/clock.ts";
import { unreachable } from "../../../ground/kernel/errors.ts";
import type { TargetConfig } from "../core/scenario.ts";
import type { Target } from "../core/target.ts";
import { checkTargetHost } from "../core/target-host.ts";
import type { FileKind, StartTargetProcess } from "./bounded/messages.ts";
import type { TargetKind } from "./session/session-target.ts";
import type { TargetFiles, TargetFilesConfig } from "./target-files.ts";

export interface TargetOptions {
  readonly files: TargetFiles;
  /** What the target's own history calls this load by, where it can: Snowflake's QUERY_TAG. */
  readonly tag: string;
  /** What a load worker may take, with DuckDB or SQLite in it; `undefined`: nobody says. */
  readonly workerBytes?: number;
  /** DuckDB and SQLite run in a process of their own, which may take `processBytes`. */
  readonly bounded?: {
    readonly start: StartTargetProcess;
    readonly files: TargetFilesConfig;
    readonly processBytes: number;
  };
}

/**
 * Nothing is connected yet. `secret` is the password, or the token of an HTTP server without a
 * user. Rejects with `bad_request` for a URL that is none of the kind, `forbidden` for a host that
 * may not be loaded, `unsupported` for a client that is not installed.
 */
export async function openTarget(
  config: TargetConfig,
  secret: string | null,
  clock: Clock,
  options: TargetOptions,
): Promise<Target> {
  const { kind } = config;
  switch (kind) {
    case "postgres": {
      const { parsePostgresUrl, postgresSocket } = await import("./postgres/parse-postgres-url.ts");
      const { createPostgresTarget } = await import("./postgres/postgres-target.ts");
      const url = withPassword(config.url, secret);
      const { host, port, sslRootCert } = parsePostgresUrl(url);
      checkTargetHost(config, host);
      if (host.startsWith("/")) options.files.checkSocket(postgresSocket(host, port));
      if (sslRootCert !== undefined) options.files.resolve(sslRootCert);
      return createPostgresTarget(url, clock);
    }
    case "mysql": {
      const { parseMysqlUrl } = await import("./mysql/parse-mysql-url.ts");
      const { createMysqlTarget } = await import("./mysql/mysql-target.ts");
      const url = withPassword(config.url, secret);
      const { host, socketPath } = parseMysqlUrl(url);
      checkTargetHost(config, socketPath ?? host);
      if (socketPath !== undefined) options.files.checkSocket(socketPath);
      return createMysqlTarget(url, clock);
    }
    case "http": {
      const { parseHttpUrl } = await import("./http/parse-http-url.ts");
      const { createHttpTarget } = await import("./http/http-target.ts");
      const { host, socketPath } = parseHttpUrl(config.url, secret);
      checkTargetHost(config, socketPath ?? host);
      if (socketPath !== undefined) options.files.checkSocket(socketPath);
      return createHttpTarget(config.url, secret, clock);
    }
    case "sqlite": {
      const { sqliteKind } = await import("./sqlite/sqlite-target.ts");
      const made = sqliteKind(config.url, clock, options.files, options.workerBytes);
      return await fileTarget(kind, config.url, made, clock, options);
    }
    case "duckdb": {
      const { duckdbKind } = await import("./duckdb/duckdb-target.ts");
      const made = duckdbKind(config.url, clock, options.files, options.workerBytes);
      return await fileTarget(kind, config.url, made, clock, options);
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

/** A database that runs in the process that opens it: this one, or one of its own. */
async function fileTarget<Plan>(
  kind: FileKind,
  text: string,
  made: TargetKind<Plan>,
  clock: Clock,
  { bounded }: TargetOptions,
): Promise<Target> {
  if (bounded === undefined) {
    const { SessionTarget } = await import("./session/session-target.ts");
    return new SessionTarget(made, clock);
  }
  const { createBoundedTarget } = await import("./bounded/bounded-target.ts");
  const { start, files, processBytes } = bounded;
  const url = new URL(text);
  url.searchParams.delete("memory_limit"); // It is for the load, in the worker.
  return createBoundedTarget(made, { kind, url: url.href, files, processBytes }, start, clock);
}

/** Exported for its test alone. */
export function withPassword(text: string, secret: string | null): string {
  if (secret === null || !URL.canParse(text)) return text;
  const url = new URL(text);
  // A URL without a host, for a socket, cannot have a password; the socket replaces the host
  // anyway.
  if (url.host === "") url.host = "localhost";
  url.password = encodeURIComponent(secret);
  return url.href;
}
