/**
 * Where windows and slices lie. A slice is the time between two neighbouring beginnings or ends of
 * windows, so all rows of a slice belong to the same windows. Slices and windows have numbers:
 *
 *   Window k is [k * advance, k * advance + size).
 *   In every advance there is one beginning, and one end at `size mod advance` behind it. Where the
 *   two fall together there is one slice for each advance, else there are two.
 *   Window k has the slices from `k * perAdvance` on, `perWindow` of them.
 *   With gaps (advance > size) a slice is a window, and the rest of the advance is in none.
 *
 * No window begins before 0: `start` and `end` are unsigned, and so a time before 0 is in none.
 */
import type { WindowSpec } from "../../../language/core/index.ts";
import { startOfTime } from "../operator.ts";

/** The greatest `end` is 2^64 - 1, and rows behind a watermark have a greater time. */
const promiseMax = 2n ** 64n - 2n;

export type SlicedWindow = Exclude<WindowSpec, { readonly kind: "session" }>;

export class WindowShape {
  readonly size: bigint;
  readonly advance: bigint;
  /** Where in an advance a window ends, if none begins there; else 0. */
  readonly remainder: bigint;
  readonly hasGaps: boolean;
  readonly perAdvance: bigint;
  readonly perWindow: bigint;

  constructor(window: SlicedWindow) {
    this.size = BigInt(window.sizeMs);
    this.advance = window.kind === "tumbling" ? this.size : BigInt(window.advanceMs);
    this.hasGaps = this.advance > this.size;
    this.remainder = this.size % this.advance;
    this.perAdvance = this.remainder === 0n || this.hasGaps ? 1n : 2n;
    this.perWindow = this.hasGaps
      ? 1n
      : (this.size / this.advance) * this.perAdvance + (this.remainder === 0n ? 0n : 1n);
  }

  /** The slice of a time; `undefined` in a gap. */
  sliceAt(time: bigint): bigint | undefined {
    const period = floorDivide(time, this.advance);
    if (this.remainder === 0n) return period;
    const isBehindEnd = time - period * this.advance >= this.remainder;
    if (this.hasGaps) return isBehindEnd ? undefined : period;
    return period * 2n + (isBehindEnd ? 1n : 0n);
  }

  sliceStart(slice: bigint): bigint {
    if (this.perAdvance === 1n) return slice * this.advance;
    const period = floorDivide(slice, 2n);
    return period * this.advance + (slice === period * 2n ? 0n : this.remainder);
  }

  sliceEnd(slice: bigint): bigint {
    return this.hasGaps ? this.sliceStart(slice) + this.size : this.sliceStart(slice + 1n);
  }

  /** The first window that has a slice. */
  firstWindow(slice: bigint): bigint {
    const first = floorDivide(slice - this.perWindow + this.perAdvance, this.perAdvance);
    return first < 0n ? 0n : first;
  }

  /** The last window that has a slice. */
  lastWindow(slice: bigint): bigint {
    return floorDivide(slice, this.perAdvance);
  }

  windowStart(window: bigint): bigint {
    return window * this.advance;
  }

  windowEnd(window: bigint): bigint {
    return window * this.advance + this.size;
  }

  /** The last window whose end is at or before a watermark. */
  lastFired(watermark: bigint): bigint {
    return floorDivide(watermark - this.size, this.advance);
  }

  /**
   * The watermark behind windows that have fired up to one: the next row has the end of the next
   * window. So it changes only when a window fires, and consumers are told no more often.
   */
  watermarkBehind(watermark: bigint): bigint {
    if (watermark === startOfTime || watermark >= promiseMax) return watermark;
    const fired = this.lastFired(watermark);
    const next = this.windowEnd(fired < 0n ? 0n : fired + 1n) - 1n;
    if (next > promiseMax) return promiseMax;
    return next;
  }

  /** The last end of a window at or before a watermark: nothing fires between two of them. */
  watermarkBefore(watermark: bigint): bigint {
    const fired = this.lastFired(watermark);
    return fired < 0n ? startOfTime : this.windowEnd(fired);
  }
}

export function floorDivide(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  return a % b !== 0n && a < 0n !== b < 0n ? quotient - 1n : quotient;
}
