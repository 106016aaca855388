/**
 * Into how many shards and spans a query is cut. Small ones stay whole: each piece costs a round trip. From three threads on,
 * the number of shards is that of the finest cut, or fewer where there is too little to read, and does not depend on the pool:
 * a coarser cut would give half of the series to other workers whenever the number of threads passes a power of two.
 */
import { type Grid, stepCount } from "../../promql/core/index.ts";
import { powerOfTwo } from "./shards.ts";

export interface Cut {
  /** A power of two. */
  readonly shardCount: number;
  /** Consecutive runs of steps. */
  readonly spanCount: number;
}

export interface CutLimits {
  readonly shardsMax: number;
  readonly spansMax: number;
  /** Below this one work is faster than two. */
  readonly samplesPerShardMin: number;
  /** A caller that reads results as they come gets them in spans from here on; another saves their overhead. */
  readonly samplesPerStreamedSpanMin: number;
  /** No work reads more at a time, whoever asks. */
  readonly samplesPerSpanMax: number;
  /** A work names its segments, and its description is bounded. */
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

/** Up to so many threads get one shard each: two shards, each of one thread, are even already. */
const shardPerUnitMax = 2;

export interface CutFacts {
  /** Of the leaf that reads the most. */
  readonly samplesEstimate: number;
  /** Of the leaf that reads the most of them. */
  readonly segmentCount: number;
  readonly stepCount: number;
  /** Threads that compute, of all workers. */
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

/** Runs of whole steps, in order, of about the same length; together they are the grid. */
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
