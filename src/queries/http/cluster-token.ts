/** The cluster's token in an HTTP header. */
import { createHash, timingSafeEqual } from "node:crypto";

export function bearerOf(token: string): string {
  return `Bearer ${token}`;
}

/** In a time that tells nothing of where the two differ, nor how long the right one is. */
export function isBearer(header: string | undefined, token: string): boolean {
  return timingSafeEqual(digest(header ?? ""), digest(bearerOf(token)));
}

function digest(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}
