/**
 * Start timestamps of counters. A start after the previous sample means that the counter was reset
 * in between, even if its value did not fall.
 */

/** Whether the counter restarted just before the sample at `index`. A start of 0 is unknown. */
export function isStartReset(ts: Float64Array, startTs: Float64Array, index: number): boolean {
  const previousMs = ts[index - 1] as number;
  const startMs = startTs[index] as number;
  // Some senders use the sample's own time for "unknown"; a later start makes no sense.
  if (startMs === 0 || startMs >= (ts[index] as number) || startMs < previousMs) return false;
  if (startMs > previousMs) return true;
  // The start equals the time of the previous sample, as with deltas. But a cumulative series after
  // a sample with an unknown start looks the same, and is no reset.
  const previousStartMs = startTs[index - 1] as number;
  return previousStartMs !== 0 && previousStartMs < previousMs;
}

/** Whether a sample claims a start before the previous sample, which has another start. */
export function startsOverlap(ts: Float64Array, startTs: Float64Array, index: number): boolean {
  const startMs = startTs[index] as number;
  return startMs !== 0 && startMs < (ts[index - 1] as number) && startMs !== startTs[index - 1];
}
