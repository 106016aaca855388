/**
 * `postgres://user:password@host:port/database?sslmode=…`, read as libpq reads it; what we do not
 * know is refused.
 */
import { bracketed, TargetUrl, type UrlForm } from "../target-url.ts";

const sslModes = ["disable", "prefer", "require", "verify-ca", "verify-full"] as const;
export type SslMode = (typeof sslModes)[number];

export interface PostgresAddress {
  /** A name, an IP address, or the directory of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string | undefined;
  readonly database: string;
  readonly applicationName: string;
  /** For the server's command line: `-c statement_timeout=5s`. */
  readonly options: string | undefined;
  readonly sslMode: SslMode;
  /** A PEM file with the authorities to trust instead of the usual ones. */
  readonly sslRootCert: string | undefined;
  readonly connectMsMax: number;
}

const connectMsDefault = 10_000;

const form: UrlForm = {
  name: "a Postgres",
  schemes: ["postgres", "postgresql"],
  hint: "postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=disable|prefer|require|verify-full",
};

export function parsePostgresUrl(text: string): PostgresAddress {
  const url = new TargetUrl(text, form);
  const user = url.user || url.take("user") || "postgres";
  const address = {
    host: url.take("host") ?? (url.host || "localhost"),
    port: parsePort(url),
    user,
    password: url.password || url.take("password"),
    database: url.path.slice(1) || (url.take("dbname") ?? user),
    applicationName: url.take("application_name") ?? "capstan-load",
    options: url.take("options"),
    sslMode: url.takeOneOf("sslmode", sslModes, "prefer"),
    sslRootCert: url.take("sslrootcert"),
    connectMsMax: parseConnectMsMax(url),
  };
  url.checkSettings();
  if (Object.values(address).some((value) => typeof value === "string" && value.includes("\0"))) {
    throw url.refusal("there is a NUL in it");
  }
  return address;
}

/** `dir`: the host of an address, where that is a directory. */
export function postgresSocket(dir: string, port: number): string {
  return `${dir}/.s.PGSQL.${port}`;
}

/** For messages: no user, no password. */
export function postgresPlace({ host, port, database }: PostgresAddress): string {
  return host.startsWith("/")
    ? `postgres:${postgresSocket(host, port)}/${database}`
    : `postgres://${bracketed(host)}:${port}/${database}`;
}

function parsePort(url: TargetUrl): number {
  const port = Number(url.take("port") ?? (url.port || 5432));
  const isPort = Number.isInteger(port) && port >= 1 && port <= 65_535;
  if (!isPort) throw url.refusal("its port is no port");
  return port;
}

/**
 * As in libpq: whole seconds, 0 for ever; for ever is an hour here, since every wait has an end.
 */
function parseConnectMsMax(url: TargetUrl): number {
  const text = url.take("connect_timeout");
  if (text === undefined) return connectMsDefault;
  if (!/^\d{1,5}$/.test(text)) throw url.refusal("connect_timeout is whole seconds");
  return (Number(text) || 3600) * 1000;
}
