/** The cluster's token in an HTTP header. */
import { sameSecret } from "./secrets.ts";

export function bearerOf(token: string): string {
  return `Bearer ${token}`;
}

export function isBearer(header: string | undefined, token: string): boolean {
  return sameSecret(bearerOf(token), header ?? "");
}
