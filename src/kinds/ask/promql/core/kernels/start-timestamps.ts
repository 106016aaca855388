/**
 * When a counter started, as the sample says. A start after the sample before means that the counter began anew in
 * between, even if its value did not fall.
 */

/** Whether the counter started anew between two samples that follow each other. A start of 0 is unknown. */
export function isStartReset(
  previousStartMs: number,
  previousMs: number,
  startMs: number,
  atMs: number,
): boolean {
  // A start at the sample's own time is how some senders say "unknown"; one after it is nonsense.
  if (startMs === 0 || startMs >= atMs || startMs < previousMs) return false;
  if (startMs > previousMs) return true;
  // It starts where the sample before stands. With deltas, each does; but so does a cumulative series after a sample
  // with an unknown start, and that is no reset.
  return previousStartMs !== 0 && previousStartMs < previousMs;
}

/** Whether a sample claims to have started before the one before it was taken, and that one says otherwise. */
export function startsOverlap(
  previousStartMs: number,
  previousMs: number,
  startMs: number,
): boolean {
  return startMs !== 0 && startMs < previousMs && startMs !== previousStartMs;
}
