/** Decides which segments to merge and which to remove. Pure: facts in, decision out. */
import { shardsMeet } from "./fingerprint.ts";
import type { SegmentInfo } from "./model.ts";

export interface CompactionLimits {
  /** Every segment lies within one block of this length, counted from 1970. */
  readonly blockMs: number;
  /** A block is settled this long after its end: few samples for it will still arrive. */
  readonly settleMs: number;
  /** A block that is not settled is merged when one shard has this many segments. */
  readonly depthMax: number;
  /** Settled blocks merge at 2 segments and this new share, or at `settledDepthMax` segments. */
  readonly newShareMin: number;
  readonly settledDepthMax: number;
  readonly samplesPerShard: number;
  readonly shardCountMax: number;
}

export const compactionLimitsDefault: CompactionLimits = {
  blockMs: 2 * 60 * 60_000,
  settleMs: 30 * 60_000,
  depthMax: 8,
  newShareMin: 0.2,
  settledDepthMax: 4,
  samplesPerShard: 1_000_000,
  shardCountMax: 16,
};

/** Merge `inputs`, all of one block, into one segment for each of `shardCount` shards. */
export interface CompactionPlan {
  readonly blockStart: number;
  /** Sorted by `seq`: of two samples with the same time, the earlier segment's wins. */
  readonly inputs: readonly SegmentInfo[];
  readonly shardCount: number;
  readonly level: number;
  /** The lowest of the inputs, so that segments published meanwhile sort after the result. */
  readonly seq: number;
  readonly sealSeq: number;
}

/** Chooses the oldest block worth merging, and all of its segments, so that none lies between. */
export function decideCompaction(
  segments: readonly SegmentInfo[],
  nowMs: number,
  limits: CompactionLimits,
): CompactionPlan | undefined {
  const blocks = [...blocksOf(segments, limits.blockMs)].sort(([a], [b]) => a - b);
  for (const [blockStart, members] of blocks) {
    if (!isWorthIt(blockStart, members, nowMs, limits)) continue;
    const inputs = members.toSorted((a, b) => a.seq - b.seq);
    const sampleCount = inputs.reduce((sum, info) => sum + info.sampleCount, 0);
    return {
      blockStart,
      inputs,
      shardCount: decideShardCount(sampleCount, limits),
      level: 1 + inputs.reduce((most, { level }) => Math.max(most, level), 0),
      seq: inputs.reduce((least, { seq }) => Math.min(least, seq), Infinity),
      sealSeq: inputs.reduce((most, { sealSeq }) => Math.max(most, sealSeq), 0),
    };
  }
  return undefined;
}

/** Returns a power of two, so that no shard is much larger than `samplesPerShard`. */
export function decideShardCount(
  sampleCount: number,
  limits: { readonly samplesPerShard: number; readonly shardCountMax: number },
): number {
  let count = 1;
  while (count < limits.shardCountMax && sampleCount > count * limits.samplesPerShard) count *= 2;
  return count;
}

function blocksOf(segments: readonly SegmentInfo[], blockMs: number): Map<number, SegmentInfo[]> {
  const startOf = ({ minTs }: SegmentInfo): number => Math.floor(minTs / blockMs) * blockMs;
  // A segment that was cut with another block length is left as it is.
  const whole = segments.filter((info) => info.maxTs < startOf(info) + blockMs);
  return Map.groupBy(whole, startOf);
}

function isWorthIt(
  blockStart: number,
  members: readonly SegmentInfo[],
  nowMs: number,
  limits: CompactionLimits,
): boolean {
  const depth = depthOf(members);
  if (depth < 2) return false;
  if (nowMs < blockStart + limits.blockMs + limits.settleMs) return depth >= limits.depthMax;
  const all = members.reduce((sum, { sampleCount }) => sum + sampleCount, 0);
  const fresh = members.reduce((sum, info) => sum + (info.level === 0 ? info.sampleCount : 0), 0);
  return fresh >= all * limits.newShareMin || depth >= limits.settledDepthMax;
}

/** The number of segments that one series may be spread over. */
function depthOf(members: readonly SegmentInfo[]): number {
  return members.reduce((most, one) => {
    const meeting = members.filter(
      (other) => other.shardCount <= one.shardCount && shardsMeet(one, other),
    );
    return Math.max(most, meeting.length);
  }, 0);
}

export interface RetentionLimits {
  /**
   * A segment is removed when its youngest sample is older than this and it was published longer
   * ago than this. So an import of old samples is not deleted at once.
   */
  readonly retentionMs: number;
  /** When all segments together have more bytes, the oldest are removed. */
  readonly bytesMax: number;
}

export const retentionLimitsDefault: RetentionLimits = {
  retentionMs: 15 * 24 * 60 * 60_000,
  bytesMax: Infinity,
};

export interface AgedSegment {
  readonly info: SegmentInfo;
  /** Time since publication, by the store's clock. */
  readonly ageMs: number;
}

/** Returns the ids of the segments to remove. `nowMs` is compared with sample times only. */
export function decideRetention(
  segments: readonly AgedSegment[],
  nowMs: number,
  limits: RetentionLimits,
): string[] {
  const before = nowMs - limits.retentionMs;
  const gone: string[] = [];
  let bytes = 0;
  const youngestFirst = segments.toSorted((a, b) => b.info.maxTs - a.info.maxTs);
  for (const { info, ageMs } of youngestFirst) {
    bytes += info.sizeBytes;
    const isOld = info.maxTs < before && ageMs > limits.retentionMs;
    if (isOld || bytes > limits.bytesMax) gone.push(info.segmentId);
  }
  return gone;
}
