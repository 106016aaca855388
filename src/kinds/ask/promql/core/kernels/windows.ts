/** Where each step's window begins and ends within a series: indexes found with two pointers, since windows only move on. */
import { stepCount } from "../model.ts";
import { IndexScratch } from "./scratch.ts";
import type { WindowSpec } from "./types.ts";

/** The window of step `i` holds the samples from `lo[i]` up to, and without, `hi[i]`. */
export interface WindowBounds {
  readonly steps: number;
  readonly lo: Int32Array;
  readonly hi: Int32Array;
}

/** The ends of the first window, and by how much each next one lies later. */
export interface WindowEdges {
  readonly steps: number;
  /** Excluded. */
  readonly startMs: number;
  /** Included. */
  readonly endMs: number;
  readonly strideMs: number;
}

/** The windows as they were asked for. */
export function windowEdges(windows: WindowSpec): WindowEdges {
  const endMs = windows.grid.startMs - windows.offsetMs;
  return {
    steps: stepCount(windows.grid),
    startMs: endMs - windows.rangeMs,
    endMs,
    strideMs: windows.fixed ? 0 : windows.grid.stepMs,
  };
}

/** The windows with what `bounds` looks at around them. */
export function reachedEdges(windows: WindowSpec): WindowEdges {
  const edges = windowEdges(windows);
  if (windows.bounds === undefined) return edges;
  return {
    ...edges,
    startMs: edges.startMs - windows.lookbackMs,
    endMs: edges.endMs + (windows.bounds === "smoothed" ? windows.lookbackMs : 0),
  };
}

/** Finds bounds in its own space, which the next call overwrites. */
export class BoundsFinder {
  readonly #lo = new IndexScratch();
  readonly #hi = new IndexScratch();

  find(ts: Float64Array, count: number, edges: WindowEdges): WindowBounds {
    const { steps } = edges;
    const lo = this.#lo.take(steps);
    const hi = this.#hi.take(steps);
    fillFirstAfter(ts, count, edges.endMs, edges.strideMs, steps, hi);
    // Where the range is a multiple of the stride, a window starts where an earlier one ended.
    const ahead = (edges.endMs - edges.startMs) / edges.strideMs;
    const shared = Number.isInteger(ahead) && ahead < steps ? steps - ahead : 0;
    fillFirstAfter(ts, count, edges.startMs, edges.strideMs, steps - shared, lo);
    if (shared > 0) lo.set(hi.subarray(0, shared), ahead);
    return { steps, lo, hi };
  }
}

/**
 * For each step, the index of the first sample after that step's edge. With evenly spaced samples, as many lie between
 * one edge and the next as between the two before: that is tried first, and then none in between is looked at.
 */
function fillFirstAfter(
  ts: Float64Array,
  count: number,
  firstEdgeMs: number,
  strideMs: number,
  steps: number,
  into: Int32Array,
): void {
  let index = firstAfter(ts, count, firstEdgeMs);
  let edgeMs = firstEdgeMs;
  let step = 0;
  while (step < steps) {
    const before = index;
    while (index < count && (ts[index] as number) <= edgeMs) index += 1;
    into[step] = index;
    step += 1;
    edgeMs += strideMs;
    const stride = index - before;
    let guess = index + stride;
    while (
      step < steps &&
      stride > 0 &&
      guess < count &&
      (ts[guess - 1] as number) <= edgeMs &&
      (ts[guess] as number) > edgeMs
    ) {
      into[step] = guess;
      index = guess;
      guess += stride;
      step += 1;
      edgeMs += strideMs;
    }
  }
}

/** The index of the first sample later than `timeMs`. */
export function firstAfter(ts: Float64Array, count: number, timeMs: number): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ts[middle] as number) <= timeMs) low = middle + 1;
    else high = middle;
  }
  return low;
}
