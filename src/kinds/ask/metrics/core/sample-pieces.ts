/**
 * Cuts, joins and merges `SampleColumns`. Columns are never written to: a result has views or new
 * ones. Where pieces meet, a histogram gets the reset hint that fits the sample before it.
 */
import {
  type FloatHistogram,
  type SampleColumns,
  withStoredHint,
} from "../../promql/core/index.ts";

/** Samples after `minMs`, up to and including `maxMs`, as views. */
export function cutSamples(samples: SampleColumns, minMs: number, maxMs: number): SampleColumns {
  const from = firstAfter(samples.ts, samples.count, minMs);
  const to = firstAfter(samples.ts, samples.count, maxMs);
  return sliceSamples(samples, from, Math.max(from, to));
}

/** The samples from `from` up to, not including, `to`, as a view. */
export function sliceSamples(samples: SampleColumns, from: number, to: number): SampleColumns {
  if (from === 0 && to === samples.count) return samples;
  return {
    count: to - from,
    ts: samples.ts.subarray(from, to),
    values: samples.values.subarray(from, to),
    stale: samples.stale?.subarray(from, to),
    startTs: samples.startTs?.subarray(from, to),
    histograms: samples.histograms?.slice(from, to),
  };
}

/** The index, at least `start`, of the first time after `ms`, or `end`. */
export function firstAfter(ts: Float64Array, end: number, ms: number, start = 0): number {
  let low = start;
  let high = end;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ts[middle] as number) <= ms) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Joins the pieces of one series, none of them empty. Of two samples for one time, the earlier
 * piece's wins. Undefined when there is no piece. With `scratch`, the result is valid until the
 * next join.
 */
export function joinPieces(
  pieces: readonly SampleColumns[],
  scratch?: ColumnScratch,
): SampleColumns | undefined {
  if (pieces.length <= 1) return pieces[0];
  const byTime = pieces.toSorted((a, b) => (a.ts[0] as number) - (b.ts[0] as number));
  const areApart = byTime.every((piece, index) => {
    const before = byTime[index - 1];
    return (
      before === undefined || (before.ts[before.count - 1] as number) < (piece.ts[0] as number)
    );
  });
  if (areApart) return concatenate(byTime, scratch);
  return pieces.reduce((merged, piece) => mergeTwo(merged, piece));
}

/** Where both have the same time, the float or stale marker wins. */
export function mergeFloatsAndHistograms(
  floats: SampleColumns,
  histograms: SampleColumns,
): SampleColumns {
  return floats.count === 0 ? histograms : mergeTwo(floats, histograms);
}

function concatenate(
  pieces: readonly SampleColumns[],
  scratch: ColumnScratch | undefined,
): SampleColumns {
  const out = new Columns(
    pieces.reduce((sum, { count }) => sum + count, 0),
    pieces,
    scratch,
  );
  for (const piece of pieces) out.append(piece, 0, piece.count);
  return out.finish();
}

/** Where both have the same time, the sample of `a` wins. */
function mergeTwo(a: SampleColumns, b: SampleColumns): SampleColumns {
  const out = new Columns(a.count + b.count, [a, b]);
  let [i, j] = [0, 0];
  while (i < a.count && j < b.count) {
    const [left, right] = [a.ts[i] as number, b.ts[j] as number];
    if (left === right) {
      j += 1;
      continue;
    }
    // Runs are copied whole: pieces overlap at their ends, if at all.
    if (left < right) {
      const end = firstAtLeast(a.ts, i, a.count, right);
      out.append(a, i, end);
      i = end;
    } else {
      const end = firstAtLeast(b.ts, j, b.count, left);
      out.append(b, j, end);
      j = end;
    }
  }
  out.append(a, i, a.count);
  out.append(b, j, b.count);
  return out.finish();
}

function firstAtLeast(ts: Float64Array, from: number, to: number, ms: number): number {
  let index = from;
  while (index < to && (ts[index] as number) < ms) index += 1;
  return index;
}

/**
 * Reusable memory for joined series. Allocating for each costs more than filling it: a query over a
 * day joins millions of samples and drops each series once it is computed.
 */
export class ColumnScratch {
  ts = new Float64Array(0);
  values = new Float64Array(0);

  reserve(count: number): void {
    if (count <= this.ts.length) return;
    const capacity = Math.max(count, this.ts.length * 2);
    this.ts = new Float64Array(capacity);
    this.values = new Float64Array(capacity);
  }
}

class Columns {
  readonly #ts: Float64Array;
  readonly #values: Float64Array;
  readonly #stale: Uint8Array | undefined;
  readonly #startTs: Float64Array | undefined;
  readonly #histograms: (FloatHistogram | undefined)[] | undefined;
  #count = 0;

  constructor(capacity: number, pieces: readonly SampleColumns[], scratch?: ColumnScratch) {
    scratch?.reserve(capacity);
    this.#ts = scratch?.ts ?? new Float64Array(capacity);
    this.#values = scratch?.values ?? new Float64Array(capacity);
    const has = (column: "stale" | "startTs" | "histograms"): boolean =>
      pieces.some((piece) => piece[column] !== undefined);
    this.#stale = has("stale") ? new Uint8Array(capacity) : undefined;
    this.#startTs = has("startTs") ? new Float64Array(capacity) : undefined;
    this.#histograms = has("histograms") ? new Array(capacity).fill(undefined) : undefined;
  }

  append(piece: SampleColumns, from: number, to: number): void {
    if (from >= to) return;
    const at = this.#count;
    this.#ts.set(piece.ts.subarray(from, to), at);
    this.#values.set(piece.values.subarray(from, to), at);
    if (piece.stale !== undefined) this.#stale?.set(piece.stale.subarray(from, to), at);
    if (piece.startTs !== undefined) this.#startTs?.set(piece.startTs.subarray(from, to), at);
    if (piece.histograms !== undefined && this.#histograms !== undefined) {
      for (let index = from; index < to; index += 1) {
        this.#histograms[at + index - from] = piece.histograms[index];
      }
      const first = this.#histograms[at];
      if (first !== undefined && at > 0) {
        this.#histograms[at] = withStoredHint(first, this.#histograms[at - 1]);
      }
    }
    this.#count = at + to - from;
  }

  finish(): SampleColumns {
    return {
      count: this.#count,
      ts: this.#ts,
      values: this.#values,
      stale: this.#stale,
      startTs: this.#startTs,
      histograms: this.#histograms,
    };
  }
}
