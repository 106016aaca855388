/** `mysql://user:password@host:port/database?ssl=…` (or `mariadb://`); what we do not know is refused. */
import { OperatingError } from "../../../kernel/errors.ts";

const sslModes = ["disable", "require", "verify"] as const;
export type SslMode = (typeof sslModes)[number];

export interface MysqlAddress {
  readonly host: string;
  readonly port: number;
  /** Of a Unix socket, instead of host and port. */
  readonly socketPath: string | undefined;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly sslMode: SslMode;
  readonly connectMsMax: number;
}

const connectMsDefault = 10_000;

export function parseMysqlUrl(text: string): MysqlAddress {
  const url = parseUrl(text);
  const settings = new Map(url.searchParams);
  const take = (name: string): string | undefined => {
    const value = settings.get(name);
    settings.delete(name);
    return value;
  };
  const seconds = take("connect_timeout");
  if (seconds !== undefined && !/^[1-9]\d{0,3}$/.test(seconds)) {
    throw refusal("connect_timeout is whole seconds");
  }
  const socketPath = take("socket");
  if (socketPath !== undefined && !socketPath.startsWith("/")) {
    throw refusal("socket is an absolute path");
  }
  const address = {
    host: url.hostname.replace(/^\[(.*)\]$/, "$1") || "localhost",
    port: Number(url.port || 3306),
    socketPath,
    user: decodeURIComponent(url.username) || "root",
    password: decodeURIComponent(url.password),
    database: decodeURIComponent(url.pathname.slice(1)),
    sslMode: parseSslMode(take("ssl") ?? "disable"),
    connectMsMax: seconds === undefined ? connectMsDefault : Number(seconds) * 1000,
  };
  const [unknown] = settings.keys();
  if (unknown !== undefined) throw refusal(`there is no setting ${unknown}`);
  if (address.database === "") throw refusal("it names no database");
  return address;
}

/** For messages: no user, no password. */
export function mysqlPlace({ host, port, socketPath, database }: MysqlAddress): string {
  const place = host.includes(":") ? `[${host}]` : host;
  return socketPath === undefined
    ? `mysql://${place}:${port}/${database}`
    : `mysql:${socketPath}/${database}`;
}

function parseUrl(text: string): URL {
  let url: URL;
  try {
    url = new URL(text);
    decodeURIComponent(url.username + url.password + url.pathname);
  } catch {
    throw refusal("it is no URL"); // Without the cause, which has the text and the password in it.
  }
  if (url.protocol !== "mysql:" && url.protocol !== "mariadb:") {
    throw refusal(`it begins with ${url.protocol}`);
  }
  return url;
}

function parseSslMode(text: string): SslMode {
  const mode = sslModes.find((known) => known === text);
  if (mode === undefined) throw refusal(`ssl is one of ${sslModes.join(", ")}`);
  return mode;
}

function refusal(why: string): OperatingError {
  return new OperatingError("bad_request", "never", `not a MySQL URL: ${why}`, {
    hint: "mysql://USER:PASSWORD@HOST:PORT/DATABASE?ssl=disable|require|verify",
  });
}
