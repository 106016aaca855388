import { createHash, timingSafeEqual } from "node:crypto";

/**
 * Whether `sent` is `secret`. Digests of equal length are compared in constant time, so that
 * neither the place of the first difference nor the secret's length can be measured.
 */
export function sameSecret(secret: string, sent: string): boolean {
  return timingSafeEqual(digestOf(secret), digestOf(sent));
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
