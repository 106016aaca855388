/** How long a request waits for what it asked for. */
import { z } from "zod";

export const timeoutField = z
  .string()
  .regex(/^\d{1,6}(ms|s|m)$/)
  .default("30s")
  .describe("How long to wait at most: 500ms, 30s, 5m.");

export function millisecondsOf(text: string): number {
  const [, count = "0", unit = "s"] = /^(\d+)(ms|s|m)$/.exec(text) ?? [];
  return Number(count) * { ms: 1, s: 1_000, m: 60_000 }[unit as "ms" | "s" | "m"];
}
