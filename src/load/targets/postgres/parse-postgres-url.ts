/** `postgres://user:password@host:port/database?sslmode=…`, read as libpq reads it; what we do not know is refused. */
import { OperatingError } from "../../../kernel/errors.ts";

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

export function parsePostgresUrl(text: string): PostgresAddress {
  const url = parseUrl(text);
  const settings = new Map(url.searchParams);
  const take = (name: string): string | undefined => {
    const value = settings.get(name);
    settings.delete(name);
    return value;
  };
  const user = decodeURIComponent(url.username) || take("user") || "postgres";
  const address = {
    host: take("host") ?? (url.hostname.replace(/^\[(.*)\]$/, "$1") || "localhost"),
    port: parsePort(take("port") ?? (url.port || "5432")),
    user,
    password: decodeURIComponent(url.password) || take("password"),
    database: decodeURIComponent(url.pathname.slice(1)) || (take("dbname") ?? user),
    applicationName: take("application_name") ?? "capstan-load",
    options: take("options"),
    sslMode: parseSslMode(take("sslmode") ?? "prefer"),
    sslRootCert: take("sslrootcert"),
    connectMsMax: parseConnectMsMax(take("connect_timeout")),
  };
  const [unknown] = settings.keys();
  if (unknown !== undefined) throw refusal(`there is no setting ${unknown}`);
  if (Object.values(address).some((value) => typeof value === "string" && value.includes("\0"))) {
    throw refusal("there is a NUL in it");
  }
  return address;
}

/** For messages: no user, no password. */
export function postgresPlace({ host, port, database }: PostgresAddress): string {
  return host.startsWith("/")
    ? `postgres:${host}/.s.PGSQL.${port}/${database}`
    : `postgres://${host.includes(":") ? `[${host}]` : host}:${port}/${database}`;
}

function parseUrl(text: string): URL {
  let url: URL;
  try {
    url = new URL(text);
    decodeURIComponent(url.username + url.password + url.pathname);
  } catch {
    throw refusal("it is no URL"); // Without the cause, which has the text and the password in it.
  }
  if (url.protocol !== "postgres:" && url.protocol !== "postgresql:") {
    throw refusal(`it begins with ${url.protocol}`);
  }
  return url;
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw refusal("its port is no port");
  return port;
}

function parseSslMode(text: string): SslMode {
  const mode = sslModes.find((known) => known === text);
  if (mode === undefined) throw refusal(`sslmode is one of ${sslModes.join(", ")}`);
  return mode;
}

/** As in libpq: whole seconds, 0 for ever; for ever is an hour here, since every wait has an end. */
function parseConnectMsMax(text: string | undefined): number {
  if (text === undefined) return connectMsDefault;
  if (!/^\d{1,5}$/.test(text)) throw refusal("connect_timeout is whole seconds");
  return (Number(text) || 3600) * 1000;
}

function refusal(why: string): OperatingError {
  return new OperatingError("bad_request", "never", `not a Postgres URL: ${why}`, {
    hint: "postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=disable|prefer|require|verify-full",
  });
}
