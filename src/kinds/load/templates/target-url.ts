/** Addresses of targets: what kind they are of, and that they carry no secret. */
import type { TargetKind } from "./document.ts";

const kindOfScheme: Readonly<Record<string, TargetKind>> = {
  postgres: "postgres",
  postgresql: "postgres",
  mysql: "mysql",
  mariadb: "mysql",
  sqlite: "sqlite",
  duckdb: "duckdb",
  snowflake: "snowflake",
  http: "http",
  https: "http",
};

export const targetSchemes = Object.keys(kindOfScheme);

/** Undefined for an unknown scheme. */
export function kindOfUrl(url: string): TargetKind | undefined {
  const scheme = /^([a-z]+):/i.exec(url)?.[1]?.toLowerCase();
  return scheme === undefined ? undefined : kindOfScheme[scheme];
}

const secretName = /pass|pwd|secret|token|api_?key|private_?key|credential/i;

/** Whether a password, or something that is called like one, is in it. */
export function hasSecret(url: string): boolean {
  return splitSecret(url).url !== url || secretSettings(url).length > 0;
}

/**
 * For a URL that a person gives on the command line: the URL as it may be stored, and the password
 * on its own.
 */
export function splitSecret(url: string): {
  readonly url: string;
  readonly password: string | null;
} {
  // Up to the last @: passwords with an @, a / or a ? of their own are common, if wrong.
  const found = /^([a-z]+:\/\/)([^:/?#@]*):(.*)@([^@]*)$/is.exec(url);
  const [, scheme = "", user = "", password = "", rest = ""] = found ?? [];
  if (found === null || /^\d+\//.test(password)) return { url, password: null }; // A port.
  return { url: `${scheme}${user}@${rest}`, password: decoded(password) };
}

function secretSettings(url: string): readonly string[] {
  const query = /\?([^#]*)/.exec(url)?.[1] ?? "";
  return query
    .split("&")
    .map((pair) => decoded(pair.split("=")[0] ?? ""))
    .filter((name) => secretName.test(name));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
