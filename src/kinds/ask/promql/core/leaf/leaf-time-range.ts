/** The samples that a leaf needs. */
import type { BaseExpr } from "../leaf.ts";
import { stepCount } from "../model.ts";

export interface LeafTimeRange {
  /** The start, exclusive. */
  readonly minMs: number;
  /** The end, inclusive. */
  readonly maxMs: number;
}

/** From the first window's start to the last one's end, with what `bounds` needs around them. */
export function leafTimeRange(leaf: BaseExpr): LeafTimeRange {
  const { grid, offsetMs, rangeMs, lookbackMs, bounds } = leaf;
  const lastStepMs = grid.startMs + Math.max(0, stepCount(grid) - 1) * grid.stepMs;
  const before = rangeMs === undefined || bounds !== undefined ? lookbackMs : 0;
  const after = bounds === "smoothed" ? lookbackMs : 0;
  return {
    minMs: grid.startMs - offsetMs - (rangeMs ?? 0) - before,
    maxMs: lastStepMs - offsetMs + after,
  };
}
