/**
 * Shards: power-of-two prefixes of a series' fingerprint. A query and a segment may each be cut into another number of
 * them; the one with fewer holds whole shards of the other.
 */
import type { SegmentInfo } from "../../metrics/core/index.ts";

/** Whether the two have series in common. */
export function shardsOverlap(
  a: { readonly shard: number; readonly shardCount: number },
  b: { readonly shard: number; readonly shardCount: number },
): boolean {
  if (a.shardCount <= b.shardCount)
    return Math.floor((b.shard * a.shardCount) / b.shardCount) === a.shard;
  return Math.floor((a.shard * b.shardCount) / a.shardCount) === b.shard;
}

export function segmentsOfShard(
  segments: readonly SegmentInfo[],
  shard: number,
  shardCount: number,
): readonly SegmentInfo[] {
  if (shardCount === 1) return segments;
  return segments.filter((segment) => shardsOverlap(segment, { shard, shardCount }));
}

/** At least `count`, and a power of two. */
export function powerOfTwo(count: number): number {
  let power = 1;
  while (power < count) power *= 2;
  return power;
}
