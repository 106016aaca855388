/**
 * `mysql://user:password@host:port/database?ssl=…` (or `mariadb://`); what we do not know is
 * refused.
 */
import { bracketed, TargetUrl, type UrlForm } from "../target-url.ts";

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

const form: UrlForm = {
  name: "a MySQL",
  schemes: ["mysql", "mariadb"],
  hint: "mysql://USER:PASSWORD@HOST:PORT/DATABASE?ssl=disable|require|verify",
};

export function parseMysqlUrl(text: string): MysqlAddress {
  const url = new TargetUrl(text, form);
  const seconds = url.take("connect_timeout");
  if (seconds !== undefined && !/^[1-9]\d{0,3}$/.test(seconds)) {
    throw url.refusal("connect_timeout is whole seconds");
  }
  const socketPath = url.take("socket");
  if (socketPath !== undefined && !socketPath.startsWith("/")) {
    throw url.refusal("socket is an absolute path");
  }
  const address = {
    host: url.host || "localhost",
    port: Number(url.port || 3306),
    socketPath,
    user: url.user || "root",
    password: url.password,
    database: url.path.slice(1),
    sslMode: url.takeOneOf("ssl", sslModes, "disable"),
    connectMsMax: seconds === undefined ? connectMsDefault : Number(seconds) * 1000,
  };
  url.checkSettings();
  if (address.database === "") throw url.refusal("it names no database");
  return address;
}

/** For messages: no user, no password. */
export function mysqlPlace({ host, port, socketPath, database }: MysqlAddress): string {
  return socketPath === undefined
    ? `mysql://${bracketed(host)}:${port}/${database}`
    : `mysql:${socketPath}/${database}`;
}
