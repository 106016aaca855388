/**
 * Whether a target may be loaded: what is on this machine, and what the scenario names. Nobody load-tests production by a typo.
 *
 *   OT1  Local is: no host (a file, a Unix socket), `localhost`, 127.0.0.0/8 in any spelling that a resolver takes, ::1, and the
 *        IPv4-mapped forms of these. Everything else, 0.0.0.0 and names under `localhost.` included, must be named.
 *   OT2  The host judged is the one that will be connected to: it comes from the kind's own parser.
 */
import { OperatingError } from "../../kernel/errors.ts";

/** `host`: a name or an address without brackets; `undefined`: there is none. Throws `forbidden`. */
export function checkHost(host: string | undefined, allowedHosts: readonly string[]): void {
  if (host === undefined || isLocalHost(host)) return;
  const canonical = canonicalHost(host);
  if (allowedHosts.some((allowed) => canonicalHost(unbracketed(allowed.trim())) === canonical)) {
    return;
  }
  throw new OperatingError(
    "forbidden",
    "never",
    `${host} is not this machine and is not among the target's allowed_hosts`,
    { hint: `If you mean to load it: allowed_hosts: [${JSON.stringify(host)}]` },
  );
}

export function isLocalHost(host: string): boolean {
  if (host.startsWith("/")) return true; // The directory of a Unix socket.
  const canonical = canonicalHost(host);
  if (canonical === "localhost" || canonical === "::1") return true;
  return /^127\.\d+\.\d+\.\d+$/.test(canonical) || /^::ffff:7f[\da-f]{2}:/.test(canonical);
}

/** One spelling for each: lower case, no dot at the end, addresses as the URL standard writes them. */
function canonicalHost(host: string): string {
  // Anything else the URL parser might turn into a name that the resolver would not.
  if (!/^[\w.:-]+$/.test(host)) return host;
  const name = host.toLowerCase().replace(/\.$/, "");
  try {
    return unbracketed(new URL(`http://${name.includes(":") ? `[${name}]` : name}/`).hostname);
  } catch {
    return `?${name}`; // No host at all: 127.0.0.256 must not look like an address.
  }
}

function unbracketed(host: string): string {
  return host.replace(/^\[(.*)\]$/, "$1");
}
