/**
 * Start timestamps of counters. A start after the previous sample means that the counter was reset
 * in between, even if its value did not fall.
 */

/** Whether the counter restarted between two consecutive samples. A start of 0 is unknown. */
export function isStartReset(
  previousStartMs: number,
  previousMs: number,
  startMs: number,
  atMs: number,
): boolean {
  // Some senders use the sample's own time for "unknown"; a later start makes no sense.
  if (startMs === 0 || startMs >= atMs || startMs < previousMs) return false;
  if (startMs > previousMs) return true;
  // The start equals the time of the previous sample, as with deltas. But a cumulative series after
  // a sample with an unknown start looks the same, and is no reset.
  return previousStartMs !== 0 && previousStartMs < previousMs;
}

/** Whether a sample claims a start before the previous sample, which has another start. */
export function startsOverlap(
  previousStartMs: number,
  previousMs: number,
  startMs: number,
): boolean {
  return startMs !== 0 && startMs < previousMs && startMs !== previousStartMs;
}
