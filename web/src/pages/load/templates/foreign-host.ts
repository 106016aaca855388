/** The host of a target that has to be allowed by name. The coordinator decides; this is so that a form can ask. Pure. */
const local = /^(localhost|127(\.\d+){3}|\[?::1\]?|)$/i;

/** `undefined`: it is this machine, or a file, or already allowed. */
export function foreignHost(url: string, allowed: readonly string[]): string | undefined {
  const host = /^[a-z]+:\/\/(?:[^/?#]*@)?(\[[^\]]*\]|[^/:?#]*)/i.exec(url)?.[1];
  if (host === undefined || /^(sqlite|duckdb):/i.test(url) || local.test(host)) return undefined;
  return allowed.includes(host) ? undefined : host;
}
