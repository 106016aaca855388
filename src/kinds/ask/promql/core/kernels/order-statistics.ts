/**
 * Quantiles and the median absolute deviation. The window stays sorted while it slides: a sample
 * that leaves or enters costs a search and a move. NaNs sort before all numbers, so they are only
 * counted.
 */
import { annotate, invalidQuantile } from "../annotations.ts";
import { stepAbsent, stepFloat } from "../model.ts";
import { argAt, type FloatBody } from "./float-kernel.ts";
import { FloatScratch } from "./scratch.ts";

/** The values from `#from` up to `#to` of a series, sorted. */
class SortedWindow {
  readonly #scratch = new FloatScratch();
  #sorted = this.#scratch.take(1);
  #values = this.#sorted;
  #from = 0;
  #to = 0;
  /** How many elements of `#sorted` are in use. */
  #size = 0;
  nanCount = 0;

  reset(values: Float64Array, count: number): void {
    this.#sorted = this.#scratch.take(count);
    this.#values = values;
    this.#from = 0;
    this.#to = 0;
    this.#size = 0;
    this.nanCount = 0;
  }

  get length(): number {
    return this.#size + this.nanCount;
  }

  moveTo(from: number, to: number): void {
    const leaving = from - this.#from;
    const entering = to - this.#to;
    // Sorting anew is cheaper than moving most values one by one.
    if (from >= this.#to || 2 * (leaving + entering) > to - from + 8) {
      this.#rebuild(from, to);
    } else {
      const replaced = Math.min(leaving, entering);
      for (let index = 0; index < replaced; index += 1) {
        this.#replace(
          this.#values[this.#from + index] as number,
          this.#values[this.#to + index] as number,
        );
      }
      for (let index = replaced; index < leaving; index += 1) {
        this.#remove(this.#values[this.#from + index] as number);
      }
      for (let index = replaced; index < entering; index += 1) {
        this.#insert(this.#values[this.#to + index] as number);
      }
    }
    this.#from = from;
    this.#to = to;
  }

  /** The `rank`th smallest value, from 0. */
  at(rank: number): number {
    return rank < this.nanCount ? Number.NaN : (this.#sorted[rank - this.nanCount] as number);
  }

  #rebuild(from: number, to: number): void {
    const sorted = this.#sorted;
    let size = 0;
    for (let index = from; index < to; index += 1) {
      const value = this.#values[index] as number;
      if (Number.isNaN(value)) continue;
      sorted[size] = value;
      size += 1;
    }
    sortFirst(sorted, size);
    this.#size = size;
    this.nanCount = to - from - size;
  }

  /** Moves only the values between the two. */
  #replace(old: number, value: number): void {
    if (Number.isNaN(old) || Number.isNaN(value)) {
      this.#remove(old);
      this.#insert(value);
      return;
    }
    const sorted = this.#sorted;
    const last = this.#size - 1;
    let at = this.#firstNotLess(old);
    while (at < last && (sorted[at + 1] as number) < value) {
      sorted[at] = sorted[at + 1] as number;
      at += 1;
    }
    while (at > 0 && (sorted[at - 1] as number) > value) {
      sorted[at] = sorted[at - 1] as number;
      at -= 1;
    }
    sorted[at] = value;
  }

  #insert(value: number): void {
    if (Number.isNaN(value)) {
      this.nanCount += 1;
      return;
    }
    const at = this.#firstNotLess(value);
    this.#sorted.copyWithin(at + 1, at, this.#size);
    this.#sorted[at] = value;
    this.#size += 1;
  }

  #remove(value: number): void {
    if (Number.isNaN(value)) {
      this.nanCount -= 1;
      return;
    }
    const at = this.#firstNotLess(value);
    this.#sorted.copyWithin(at, at + 1, this.#size);
    this.#size -= 1;
  }

  #firstNotLess(value: number): number {
    let low = 0;
    let high = this.#size;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#sorted[middle] as number) < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Up to this size, insertion sort beats the engine's sort. */
const insertionSizeMax = 48;

/** Sorts the first `size` elements, none of them NaN. */
function sortFirst(values: Float64Array, size: number): void {
  if (size > insertionSizeMax) {
    values.subarray(0, size).sort();
    return;
  }
  for (let index = 1; index < size; index += 1) {
    const value = values[index] as number;
    let at = index;
    while (at > 0 && (values[at - 1] as number) > value) {
      values[at] = values[at - 1] as number;
      at -= 1;
    }
    values[at] = value;
  }
}

/** The weighted mean of the two values around the quantile. */
function interpolateRank(rank: number, length: number, at: (index: number) => number): number {
  const lower = Math.max(0, Math.floor(rank));
  const upper = Math.min(length - 1, lower + 1);
  const weight = rank - Math.floor(rank);
  return at(lower) * (1 - weight) + at(upper) * weight;
}

const window = new SortedWindow();

/** From this many samples on, checking for a cancelled query costs nothing beside sorting. */
const largeWindow = 1_024;

export const quantileOverTime: FloatBody = (floats, bounds, out, call) => {
  const { args, annotations, windows } = call;
  const { steps, lo, hi } = bounds;
  window.reset(floats.values, floats.count);
  const valueAt = (rank: number) => window.at(rank);
  let notedQuantile: number | undefined;
  for (let step = 0; step < steps; step += 1) {
    const from = lo[step] as number;
    const to = hi[step] as number;
    if (to <= from) {
      out.kinds[step] = stepAbsent;
      continue;
    }
    if (to - from >= largeWindow) windows.checkStop?.();
    const quantile = argAt(args[0], step);
    out.kinds[step] = stepFloat;
    if (quantile >= 0 && quantile <= 1) {
      window.moveTo(from, to);
      out.values[step] = interpolateRank(quantile * (to - from - 1), to - from, valueAt);
      continue;
    }
    out.values[step] = quantile < 0 ? -Infinity : quantile > 1 ? Infinity : Number.NaN;
    if (Object.is(quantile, notedQuantile)) continue;
    notedQuantile = quantile;
    annotate(annotations, invalidQuantile(quantile), 0);
  }
};

const deviationScratch = new FloatScratch();

export const madOverTime: FloatBody = (floats, bounds, out, { windows }) => {
  const { steps, lo, hi } = bounds;
  window.reset(floats.values, floats.count);
  const deviations = deviationScratch.take(floats.count);
  const valueAt = (rank: number) => window.at(rank);
  let nanCount = 0;
  const deviationAt = (rank: number) =>
    rank < nanCount ? Number.NaN : (deviations[rank - nanCount] as number);
  for (let step = 0; step < steps; step += 1) {
    const from = lo[step] as number;
    const to = hi[step] as number;
    if (to <= from) {
      out.kinds[step] = stepAbsent;
      continue;
    }
    if (to - from >= largeWindow) windows.checkStop?.();
    out.kinds[step] = stepFloat;
    window.moveTo(from, to);
    if (window.nanCount > 0) {
      out.values[step] = Number.NaN;
      continue;
    }
    const length = to - from;
    const median = interpolateRank(0.5 * (length - 1), length, valueAt);
    let size = 0;
    for (let index = from; index < to; index += 1) {
      const deviation = Math.abs((floats.values[index] as number) - median);
      // The deviation of an infinite value from an infinite median is NaN.
      if (Number.isNaN(deviation)) continue;
      deviations[size] = deviation;
      size += 1;
    }
    nanCount = length - size;
    sortFirst(deviations, size);
    out.values[step] = interpolateRank(0.5 * (length - 1), length, deviationAt);
  }
};
