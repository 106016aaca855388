/**
 * Whom a run may load: the one rule, at Prepare and whenever a target is opened. Nobody load-tests
 * production by a typo. Rules: OT1, OT2, OT5, TH1 and TH2.
 */
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { TargetConfig } from "./scenario.ts";

/**
 * `connected` is the host that the kind's client will use, once known. Throws `forbidden` or
 * `bad_request`.
 */
export function checkTargetHost(config: TargetConfig, connected?: string): void {
  const { kind, url, allowedHosts: allowed } = config;
  if (kind === "sqlite" || kind === "duckdb") return;
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined) throw refusal("the target's address is none that is understood");
  const secrets = [
    parsed.password,
    ...["password", "passwd", "pwd", "token"].map((name) => parsed.searchParams.get(name) ?? ""),
  ];
  if (secrets.some((secret) => secret !== "")) {
    throw refusal("the target's address has a password in it; give it apart"); // TH2
  }
  for (const host of hostsOf(kind, parsed)) checkHost(host, allowed);
  if (connected !== undefined) checkHost(connected, allowed);
}

/** `host` is a name, or an address without brackets. Throws `forbidden`. */
export function checkHost(host: string, allowedHosts: readonly string[]): void {
  if (isLocalHost(host)) return;
  const canonical = canonicalHost(host);
  if (isMetadataHost(canonical)) throw metadataRefusal(host);
  if (allowedHosts.some((allowed) => canonicalHost(unbracketed(allowed.trim())) === canonical)) {
    return;
  }
  throw new OperatingError(
    "forbidden",
    "never",
    `${host} is not on this machine, and allowed_hosts does not name it`,
    {
      hint: `If ${host} is meant to be loaded, add it to target.allowed_hosts, or pass --allow-host ${host}.`,
    },
  );
}

/** Whether `host`, a name or an address in any spelling, is a metadata service (OT5). */
export function isMetadataHost(host: string): boolean {
  const canonical = canonicalHost(host);
  if (
    /^(169\.254\.|100\.100\.100\.200$|fe[89ab][\da-f]:|::ffff:a9fe:|::ffff:6464:64c8$)/.test(
      canonical,
    )
  ) {
    return true;
  }
  return canonical === "fd00:ec2::254" || /^(metadata|instance-data)(\.|$)/.test(canonical);
}

export function metadataRefusal(host: string): OperatingError {
  const message = `${host} is a link-local address or a cloud's metadata service, which is never loaded`;
  return new OperatingError("forbidden", "never", message);
}

/** Whether the address means another target, or none, on another machine. */
export function isLocalTarget({ kind, url }: TargetConfig): boolean {
  if (kind === "sqlite" || kind === "duckdb") return true;
  return !URL.canParse(url) || hostsOf(kind, new URL(url)).every(isLocalHost);
}

export function isLocalHost(host: string): boolean {
  if (host.startsWith("/")) return true; // The directory of a Unix socket.
  const canonical = canonicalHost(host);
  if (canonical === "localhost" || canonical === "::1") return true;
  return /^127\.\d+\.\d+\.\d+$/.test(canonical) || /^::ffff:7f[\da-f]{2}:/.test(canonical);
}

/** Every host in the address (OT2). Snowflake's address names an account instead of a host. */
function hostsOf(kind: TargetConfig["kind"], url: URL): readonly string[] {
  if (kind === "snowflake") {
    const access = url.searchParams.get("access_url");
    if (access === null) return [`${url.hostname}.snowflakecomputing.com`];
    if (!URL.canParse(access)) throw refusal("the target's access_url is none");
    return [unbracketed(new URL(access).hostname)];
  }
  const given = [...url.searchParams.getAll("host"), ...url.searchParams.getAll("hostaddr")];
  const hosts = [url.hostname, ...given].flatMap((text) => text.split(","));
  return hosts.map(unbracketed).filter((host) => host !== "");
}

/**
 * The canonical spelling: lower case, no trailing dot, addresses as the URL standard writes them.
 */
function canonicalHost(host: string): string {
  // The URL parser might turn other text into a name that the resolver would not.
  if (!/^[\w.:-]+$/.test(host)) return host;
  const name = host.toLowerCase().replace(/\.$/, "");
  try {
    return unbracketed(new URL(`http://${name.includes(":") ? `[${name}]` : name}/`).hostname);
  } catch {
    return `?${name}`; // Not a host: 127.0.0.256 must not look like an address.
  }
}

function unbracketed(host: string): string {
  return host.replace(/^\[(.*)\]$/, "$1");
}

function refusal(message: string): OperatingError {
  return new OperatingError("bad_request", "never", message);
}
