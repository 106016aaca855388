/**
 * Shards: power-of-two prefixes of a series' fingerprint. A query and a segment may have different
 * shard counts; a shard of the smaller count holds whole shards of the larger one.
 */
import type { SegmentInfo } from "../../metrics/core/index.ts";

/** Whether the two shards can have series in common. */
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

/** The smallest power of two that is at least `count`. */
export function powerOfTwo(count: number): number {
  let power = 1;
  while (power < count) power *= 2;
  return power;
}
