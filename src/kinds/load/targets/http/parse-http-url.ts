/**
 * `http://user@host:port/prefix`: where requests go. `http+unix:///path/of/socket` for a Unix
 * socket.
 */
import { bracketed, TargetUrl, type UrlForm } from "../target-url.ts";

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

const form: UrlForm = {
  name: "an HTTP",
  schemes: ["http", "https", "http+unix"],
  hint: "http://HOST:PORT/PREFIX",
};

/** With a user in the URL its password is the secret, otherwise the secret is a token. */
export function parseHttpUrl(text: string, secret: string | null): HttpAddress {
  const url = new TargetUrl(text, form);
  url.checkSettings(); // A query belongs to the operations.
  const isSocket = url.scheme === "http+unix";
  if (isSocket && (url.host !== "" || url.path === "")) throw url.refusal("it is no socket's path");
  const isTls = url.scheme === "https";
  return {
    host: url.host,
    port: Number(url.port || (isTls ? 443 : 80)),
    socketPath: isSocket ? url.path : undefined,
    isTls,
    basePath: isSocket ? "" : url.rawPath.replace(/\/+$/, ""),
    authorization: authorizationOf(url.user, secret ?? url.password),
  };
}

/** For messages: no user, no password. */
export function httpPlace({ host, port, socketPath, isTls, basePath }: HttpAddress): string {
  return socketPath === undefined
    ? `${isTls ? "https" : "http"}://${bracketed(host)}:${port}${basePath}`
    : `http+unix://${socketPath}`;
}

function authorizationOf(user: string, password: string): string | undefined {
  if (user !== "") return `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
  return password === "" ? undefined : `Bearer ${password}`;
}
