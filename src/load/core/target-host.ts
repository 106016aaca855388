/**
 * Whom a run may load.
 *
 *   TH1  A file and a server on this machine may always be loaded; another host only if the scenario names it. Whatever is not understood
 *        is refused: nobody load-tests production by a typo.
 *   TH2  An address with a password in it is refused: addresses are stored and shown.
 */
import { OperatingError } from "../../kernel/errors.ts";
import type { TargetConfig } from "./scenario.ts";

export function checkTargetHost({ kind, url, allowed_hosts: allowed }: TargetConfig): void {
  if (kind === "sqlite" || kind === "duckdb") return;
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined) throw refusal(`the target's address is none that is understood`);
  const secrets = [
    parsed.password,
    ...["password", "passwd", "pwd", "token"].map((name) => parsed.searchParams.get(name) ?? ""),
  ];
  if (secrets.some((secret) => secret !== "")) {
    throw refusal("the target's address has a password in it; give it apart"); // TH2
  }
  for (const host of hostsOf(parsed)) {
    if (isLocal(host) || allowed.some((name) => name.toLowerCase() === host)) continue;
    throw new OperatingError(
      "forbidden",
      "never",
      `${host} is not on this machine, and allowed_hosts does not name it`,
      {
        hint: `If ${host} is meant to be loaded, add it to target.allowed_hosts, or pass --allow-host ${host}.`,
      },
    );
  }
}

/** Drivers take hosts from the query, too, and then it is those that count. */
function hostsOf(url: URL): readonly string[] {
  const given = [...url.searchParams.getAll("host"), ...url.searchParams.getAll("hostaddr")];
  const hosts = [url.hostname, ...given].flatMap((text) => text.split(","));
  return hosts
    .map((host) => host.toLowerCase().replace(/^\[|\]$/g, ""))
    .filter((host) => host !== "");
}

function isLocal(host: string): boolean {
  if (host.startsWith("/") || host.startsWith("%2f")) return true; // A socket in the file system.
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

function refusal(message: string): OperatingError {
  return new OperatingError("bad_request", "never", message);
}
