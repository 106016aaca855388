/** How long to wait before the next try of something that failed. */
export interface Backoff {
  readonly minMs: number;
  readonly maxMs: number;
}

/**
 * BO1. The pause after so many failures in a row; none after no failure. `random` is of [0, 1) and
 * parts those who failed together; without it the pause is whole.
 */
export function backoffMs({ minMs, maxMs }: Backoff, failures: number, random: number = 1): number {
  if (failures <= 0) return 0;
  const growth = 2 ** Math.min(failures - 1, 50); // Bounded, so that it stays a number.
  return (Math.min(maxMs, minMs * growth) * (1 + random)) / 2;
}
