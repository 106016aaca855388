/** `http://user@host:port/prefix`: where requests go. `http+unix:///path/of/socket` for a Unix socket. */
import { OperatingError } from "../../../kernel/errors.ts";

export interface HttpAddress {
  readonly host: string;
  readonly port: number;
  readonly socketPath: string | undefined;
  readonly isTls: boolean;
  /** Before every request's path; no `/` at its end. */
  readonly basePath: string;
  /** The header. */
  readonly authorization: string | undefined;
}

/** With a user in the URL its password is the secret, otherwise the secret is a token. */
export function parseHttpUrl(text: string, secret: string | null): HttpAddress {
  let url: URL;
  let user: string;
  let password: string;
  try {
    url = new URL(text);
    user = decodeURIComponent(url.username);
    password = secret ?? decodeURIComponent(url.password);
  } catch {
    throw refusal("it is no URL");
  }
  if (!["http:", "https:", "http+unix:"].includes(url.protocol)) {
    throw refusal(`it begins with ${url.protocol}`);
  }
  if (url.search !== "" || url.hash !== "") throw refusal("the query belongs to the operations");
  const isSocket = url.protocol === "http+unix:";
  if (isSocket && (url.host !== "" || url.pathname === "")) throw refusal("it is no socket's path");
  const isTls = url.protocol === "https:";
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: Number(url.port || (isTls ? 443 : 80)),
    socketPath: isSocket ? decodeURIComponent(url.pathname) : undefined,
    isTls,
    basePath: isSocket ? "" : url.pathname.replace(/\/+$/, ""),
    authorization: authorizationOf(user, password),
  };
}

/** For messages: no user, no password. */
export function httpPlace({ host, port, socketPath, isTls, basePath }: HttpAddress): string {
  const place = host.includes(":") ? `[${host}]` : host;
  return socketPath === undefined
    ? `${isTls ? "https" : "http"}://${place}:${port}${basePath}`
    : `http+unix://${socketPath}`;
}

function authorizationOf(user: string, password: string): string | undefined {
  if (user !== "") return `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
  return password === "" ? undefined : `Bearer ${password}`;
}

function refusal(why: string): OperatingError {
  return new OperatingError("bad_request", "never", `not an HTTP URL: ${why}`, {
    hint: "http://HOST:PORT/PREFIX",
  });
}
