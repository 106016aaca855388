/**
 * Decides into how many shards and spans a query is cut. A small query stays whole, because each
 * piece costs a round trip. With three or more threads the number of shards is that of the finest
 * cut, or fewer when there is little to read, and does not depend on the pool: a coarser cut would
 * give half of the series to other workers whenever the number of threads passes a power of two.
 */
import { type Grid, stepCount } from "../../promql/core/index.ts";
import { powerOfTwo } from "./shards.ts";

export interface Cut {
  /** A power of two. */
  readonly shardCount: number;
  /** The number of consecutive runs of steps. */
  readonly spanCount: number;
}

export interface CutLimits {
  readonly shardsMax: number;
  readonly spansMax: number;
  /** With fewer samples one work is faster than two. */
  readonly samplesPerShardMin: number;
  /**
   * From this size a streamed query is cut into spans, so that its results arrive early. Other
   * queries avoid the overhead.
   */
  readonly samplesPerStreamedSpanMin: number;
  /** The maximum that a work reads at a time, for any query. */
  readonly samplesPerSpanMax: number;
  /** Bounded, because a work's body names its segments. */
  readonly segmentsPerShardMax: number;
}

export const defaultCutLimits: CutLimits = {
  shardsMax: 16,
  spansMax: 4,
  samplesPerShardMin: 100_000,
  samplesPerStreamedSpanMin: 500_000,
  samplesPerSpanMax: 16_000_000,
  segmentsPerShardMax: 2_000,
};

/** Up to this many threads get one shard each. */
const shardPerUnitMax = 2;

export interface CutFacts {
  /** The samples of the leaf that reads the most samples. */
  readonly samplesEstimate: number;
  /** The segments of the leaf that reads the most segments. */
  readonly segmentCount: number;
  readonly stepCount: number;
  /** The compute threads of all workers. */
  readonly computeUnits: number;
  readonly streamed: boolean;
}

export function decideCut(facts: CutFacts, limits: CutLimits): Cut {
  const { samplesEstimate, streamed } = facts;
  const { computeUnits } = facts;
  const shardsWanted = Math.min(
    computeUnits > shardPerUnitMax ? limits.shardsMax : powerOfTwo(computeUnits),
    powerOfTwo(Math.floor(samplesEstimate / limits.samplesPerShardMin)),
    limits.shardsMax,
  );
  const shardsNeeded = powerOfTwo(Math.ceil(facts.segmentCount / limits.segmentsPerShardMax));
  const shardCount = Math.min(limits.shardsMax, Math.max(1, shardsWanted, shardsNeeded));
  const perSpan = streamed ? limits.samplesPerStreamedSpanMin : limits.samplesPerSpanMax;
  const spansWanted = Math.ceil(samplesEstimate / perSpan);
  const spanCount = Math.max(1, Math.min(spansWanted, limits.spansMax, facts.stepCount));
  return { shardCount, spanCount };
}

/** Splits the grid into runs of whole steps, in order, of about the same length. */
export function cutGrid(grid: Grid, spanCount: number): readonly Grid[] {
  const steps = stepCount(grid);
  const count = Math.max(1, Math.min(spanCount, steps));
  return Array.from({ length: count }, (_, index) => {
    const first = Math.floor((steps * index) / count);
    const last = Math.floor((steps * (index + 1)) / count) - 1;
    const { startMs, stepMs } = grid;
    return { startMs: startMs + first * stepMs, endMs: startMs + last * stepMs, stepMs };
  });
}
