/**
 * Tokens and their roles: `read` sees, `operate` also changes. Without tokens the process is open
 * to every caller, and `checkBind` limits it to this machine. A comparison takes the same time for
 * every input: the digest is compared with every known one. A token never appears in an error or a
 * log line.
 */
import { readFileSync } from "node:fs";
import { messageOf, OperatingError } from "../kernel/errors.ts";
import { sameSecret } from "../kernel/node/secrets.ts";

export type Role = "read" | "operate";

const tokenLengthMin = 16;

export class TokenBook {
  readonly #entries: readonly { readonly role: Role; readonly token: string }[];
  /** A token with the role operate for this process's calls to itself; undefined without tokens. */
  readonly operateToken: string | undefined;

  constructor(tokens: readonly { readonly role: Role; readonly token: string }[]) {
    this.#entries = tokens;
    this.operateToken = tokens.find(({ role }) => role === "operate")?.token;
  }

  /** Only for the scrubber. */
  secrets(): readonly string[] {
    return this.#entries.map(({ token }) => token);
  }

  get size(): number {
    return this.#entries.length;
  }

  /** The strongest role of `token`; undefined when it is unknown. */
  roleOf(token: string): Role | undefined {
    let role: Role | undefined;
    for (const entry of this.#entries) {
      if (sameSecret(entry.token, token) && role !== "operate") role = entry.role;
    }
    return role;
  }
}

/** The token of `Authorization: Bearer TOKEN`. */
export function bearerToken(authorization: string | undefined): string | undefined {
  return /^Bearer +([^\s]+) *$/i.exec(authorization ?? "")?.[1];
}

/** Reads `role token` lines; `#` starts a comment. Errors name `source`, never a token. */
export function parseTokens(
  text: string,
  source: string,
): readonly { readonly role: Role; readonly token: string }[] {
  return text.split(/[\n,]/).flatMap((line, index) => {
    const words = line.replace(/#.*$/, "").trim();
    if (words === "") return [];
    const [role, token, ...rest] = words.split(/\s+/);
    if ((role !== "read" && role !== "operate") || token === undefined || rest.length > 0) {
      throw badTokens(source, index, "is not `read TOKEN` or `operate TOKEN`");
    }
    if (token.length < tokenLengthMin) {
      throw badTokens(source, index, `has a token of fewer than ${tokenLengthMin} characters`);
    }
    return [{ role, token }];
  });
}

/** Merges the tokens of a file and of the environment. */
export function readTokens(file: string | undefined, env: string | undefined): TokenBook {
  const fromEnv = env === undefined ? [] : parseTokens(env, "CAPSTAN_TOKENS");
  if (file === undefined) return new TokenBook(fromEnv);
  return new TokenBook([...parseTokens(readSecretFile(file, "--tokens-file"), file), ...fromEnv]);
}

/** Reads a file that a flag named. */
export function readSecretFile(file: string, flag: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new OperatingError(
      "bad_request",
      "never",
      `cannot read ${file} (given with ${flag}): ${messageOf(cause)}`,
      { cause },
    );
  }
}

function badTokens(source: string, index: number, what: string): OperatingError {
  return new OperatingError("bad_request", "never", `line ${index + 1} of ${source} ${what}`, {
    hint: "Make a token with: openssl rand -base64 32",
  });
}
