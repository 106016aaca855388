/**
 * The host of a target that has to be allowed by name. The coordinator decides; this lets a form
 * ask. Pure.
 */
const local = /^(localhost|127(\.\d+){3}|\[?::1\]?|)$/i;

/** Undefined for this machine, a file, or an allowed host. */
export function foreignHost(url: string, allowed: readonly string[]): string | undefined {
  const host = /^[a-z]+:\/\/(?:[^/?#]*@)?(\[[^\]]*\]|[^/:?#]*)/i.exec(url)?.[1];
  if (host === undefined || /^(sqlite|duckdb):/i.test(url) || local.test(host)) return undefined;
  return allowed.includes(host) ? undefined : host;
}
