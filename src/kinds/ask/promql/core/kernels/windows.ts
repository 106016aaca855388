/** Finds where each step's window begins and ends within a series, with two moving pointers. */
import { stepCount } from "../model.ts";
import { IndexScratch } from "./scratch.ts";
import type { WindowSpec } from "./types.ts";

/** The window of step `i` has the samples from `lo[i]` up to, not including, `hi[i]`. */
export interface WindowBounds {
  readonly steps: number;
  readonly lo: Int32Array;
  readonly hi: Int32Array;
}

/** The ends of the first window, and the distance to each next one. */
export interface WindowEdges {
  readonly steps: number;
  /** The start, exclusive. */
  readonly startMs: number;
  /** The end, inclusive. */
  readonly endMs: number;
  readonly strideMs: number;
}

/** The windows as requested. */
export function windowEdges(windows: WindowSpec): WindowEdges {
  const endMs = windows.grid.startMs - windows.offsetMs;
  return {
    steps: stepCount(windows.grid),
    startMs: endMs - windows.rangeMs,
    endMs,
    strideMs: windows.fixed ? 0 : windows.grid.stepMs,
  };
}

/** The windows extended by what `bounds` reads around them. */
export function reachedEdges(windows: WindowSpec): WindowEdges {
  const edges = windowEdges(windows);
  if (windows.bounds === undefined) return edges;
  return {
    ...edges,
    startMs: edges.startMs - windows.lookbackMs,
    endMs: edges.endMs + (windows.bounds === "smoothed" ? windows.lookbackMs : 0),
  };
}

/** Finds bounds in its own memory, which the next call overwrites. */
export class BoundsFinder {
  readonly #lo = new IndexScratch();
  readonly #hi = new IndexScratch();

  find(ts: Float64Array, count: number, edges: WindowEdges): WindowBounds {
    const { steps } = edges;
    const lo = this.#lo.take(steps);
    const hi = this.#hi.take(steps);
    fillFirstAfter(ts, count, edges.endMs, edges.strideMs, steps, hi);
    // If the range is a multiple of the stride, a window starts where an earlier one ended.
    const ahead = (edges.endMs - edges.startMs) / edges.strideMs;
    const shared = Number.isInteger(ahead) && ahead < steps ? steps - ahead : 0;
    fillFirstAfter(ts, count, edges.startMs, edges.strideMs, steps - shared, lo);
    if (shared > 0) lo.set(hi.subarray(0, shared), ahead);
    return { steps, lo, hi };
  }
}

/**
 * For each step, the index of the first sample after its edge. With evenly spaced samples the
 * distance between edges repeats, so the same distance is tried first.
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
