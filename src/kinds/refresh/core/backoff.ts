/** How long a refresh that failed waits for its next attempt. */
import type { Prng } from "../../../ground/kernel/prng.ts";

export interface RefreshBackoff {
  readonly minMs: number;
  readonly maxMs: number;
}

export const defaultBackoff: RefreshBackoff = { minMs: 1_000, maxMs: 300_000 };

/** Doubles with every failure up to `maxMs`, less a random part of up to half. Whole milliseconds, as the store has them. */
export function decideBackoffMs(
  failures: number,
  prng: Prng,
  { minMs, maxMs }: RefreshBackoff,
): number {
  if (failures <= 0) return 0;
  const fullMs = Math.min(maxMs, minMs * 2 ** Math.min(failures - 1, 50));
  return Math.ceil(fullMs * (1 - prng.next() / 2));
}
