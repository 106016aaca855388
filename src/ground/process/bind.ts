/** Where a process may listen: on loopback always, on another address only with tokens. */
import { isIP } from "node:net";
import { OperatingError } from "../kernel/errors.ts";

/** Whether only this machine can reach a server bound to `host`. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, "").toLowerCase();
  if (name === "localhost" || name === "::1") return true;
  return isIP(name) === 4 && name.startsWith("127.");
}

export function checkBind(host: string, protection: "tokens" | "nothing", what: string): void {
  if (isLoopback(host) || protection === "tokens") return;
  throw new OperatingError(
    "unsafe_bind",
    "never",
    `refusing to bind ${what} to ${host} without tokens: anyone who reaches it could drive the cluster`,
    {
      hint: "Give --tokens-file FILE (lines of `read TOKEN` or `operate TOKEN`), or stay on 127.0.0.1.",
    },
  );
}

/** Explains a listener's failure to the user who chose the port. */
export function listenError(thrown: unknown, host: string, port: number, flag: string): unknown {
  const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
  if (code === "EADDRINUSE") {
    return new OperatingError("port_in_use", "never", `port ${port} on ${host} is in use`, {
      cause: thrown,
      hint: `Stop what listens there, or choose another port with ${flag}.`,
    });
  }
  if (code === "EACCES") {
    return new OperatingError("forbidden", "never", `may not listen on port ${port} of ${host}`, {
      cause: thrown,
      hint: `Choose a port above 1023 with ${flag}.`,
    });
  }
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
    return new OperatingError("bad_request", "never", `this machine has no address ${host}`, {
      cause: thrown,
      hint: "Choose one of its own with --host.",
    });
  }
  return thrown;
}

/** `host:port` in the form that a URL needs. */
export function hostPort(host: string, port: number): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}
