import { createHash, timingSafeEqual } from "node:crypto";

/** The header that carries the cluster token. */
export const authorizationHeader = "authorization";

export function bearer(token: string): string {
  return `Bearer ${token}`;
}

export type TokenVerdict = "accepted" | "absent" | "wrong";

/**
 * Compares in constant time: hashes of equal length, so neither the position of the first difference nor the
 * token's length can be measured.
 */
export function checkBearer(header: string | null, token: string): TokenVerdict {
  if (header === null || header === "") return "absent";
  return timingSafeEqual(digest(header), digest(bearer(token))) ? "accepted" : "wrong";
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
