/** Decides the address that this process's API is reached by. */

import { hostname } from "node:os";
import { OperatingError } from "../ground/kernel/errors.ts";
import { chooseFreePort, hostPort, readSecretFile } from "../ground/process/index.ts";
import type { ControllerOptions } from "./options.ts";

export interface Address {
  readonly port: number;
  readonly apiUrl: string;
}

export async function chooseAddress(options: ControllerOptions): Promise<Address> {
  const { host } = options;
  const port = options.port === 0 ? await chooseFreePort(host) : options.port;
  const isSecure = readApiTls(options) !== undefined;
  return { port, apiUrl: options.apiUrl ?? ownUrl(host, port, isSecure) };
}

/** A server bound to every address is advertised under the machine's host name. */
function ownUrl(host: string, port: number, secure: boolean): string {
  const name = host === "0.0.0.0" || host === "::" ? hostname() : host;
  return `${secure ? "https" : "http"}://${hostPort(name, port)}`;
}

export function readApiTls({
  tlsCert,
  tlsKey,
}: ControllerOptions): { readonly cert: string; readonly key: string } | undefined {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new OperatingError("bad_request", "never", "--tls-cert and --tls-key go together");
  }
  return {
    cert: readSecretFile(tlsCert, "--tls-cert"),
    key: readSecretFile(tlsKey, "--tls-key"),
  };
}
