import { sameSecret } from "../../kernel/node/secrets.ts";

/** The header that carries the cluster token. */
export const authorizationHeader = "authorization";

export function bearer(token: string): string {
  return `Bearer ${token}`;
}

export type TokenVerdict = "accepted" | "absent" | "wrong";

export function checkBearer(header: string | null, token: string): TokenVerdict {
  if (header === null || header === "") return "absent";
  return sameSecret(bearer(token), header) ? "accepted" : "wrong";
}
