/** How long to wait before the next try of something that failed. */
export interface Backoff {
  readonly minMs: number;
  readonly maxMs: number;
}

/**
 * BO1. The pause in milliseconds after `failures` in a row; 0 after none. `random` is in [0, 1) and
 * spreads callers that failed together; without it the pause is not shortened.
 */
export function backoffMs({ minMs, maxMs }: Backoff, failures: number, random: number = 1): number {
  if (failures <= 0) return 0;
  const growth = 2 ** Math.min(failures - 1, 50); // Bounded, so that the product stays finite.
  return (Math.min(maxMs, minMs * growth) * (1 + random)) / 2;
}
