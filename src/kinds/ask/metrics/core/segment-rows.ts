/** Collects rows of a segment's files into row groups. */
import type { Labels } from "../../promql/core/index.ts";
import { type Fingerprint, fingerprintBits } from "./fingerprint.ts";
import { labelsJson } from "./labels-json.ts";
import {
  histogramRowGroupRows,
  segmentRowGroupRows,
  seriesRowGroupRows,
} from "./segment-schema.ts";

/**
 * The current row group of samples. It grows on demand: most segments of a small system stay small.
 */
export class SampleRows {
  #capacity = 0;
  #ids = new Int32Array(0);
  #ts = new Float64Array(0);
  #values = new Float64Array(0);
  #stale = new Uint8Array(0);
  #startTs = new Float64Array(0);
  #resetSums = new Float64Array(0);
  count = 0;

  get isFull(): boolean {
    return this.count === segmentRowGroupRows;
  }

  add(
    id: number,
    ts: number,
    value: number,
    stale: number,
    startTs: number,
    resetSum: number,
  ): void {
    const row = this.count;
    if (row === this.#capacity) this.#grow();
    this.#ids[row] = id;
    this.#ts[row] = ts;
    this.#values[row] = value;
    this.#stale[row] = stale;
    this.#startTs[row] = startTs;
    this.#resetSums[row] = resetSum;
    this.count = row + 1;
  }

  #grow(): void {
    const capacity = Math.min(segmentRowGroupRows, Math.max(1_024, this.#capacity * 4));
    const grown = <T extends Int32Array | Float64Array | Uint8Array>(old: T, wide: T): T => {
      wide.set(old);
      return wide;
    };
    this.#ids = grown(this.#ids, new Int32Array(capacity));
    this.#ts = grown(this.#ts, new Float64Array(capacity));
    this.#values = grown(this.#values, new Float64Array(capacity));
    this.#stale = grown(this.#stale, new Uint8Array(capacity));
    this.#startTs = grown(this.#startTs, new Float64Array(capacity));
    this.#resetSums = grown(this.#resetSums, new Float64Array(capacity));
    this.#capacity = capacity;
  }

  /** Views, valid until the next `add`. */
  take(): (Int32Array | Float64Array | Uint8Array)[] {
    const { count } = this;
    this.count = 0;
    return [
      this.#ids.subarray(0, count),
      this.#ts.subarray(0, count),
      this.#values.subarray(0, count),
      this.#stale.subarray(0, count),
      this.#startTs.subarray(0, count),
      this.#resetSums.subarray(0, count),
    ];
  }
}

/** The current row group of histograms. */
export class HistogramRows {
  #ids: number[] = [];
  #ts: number[] = [];
  #startTs: number[] = [];
  #blobs: Uint8Array[] = [];

  get count(): number {
    return this.#ids.length;
  }

  get isFull(): boolean {
    return this.count === histogramRowGroupRows;
  }

  add(id: number, ts: number, startTs: number, blob: Uint8Array): void {
    this.#ids.push(id);
    this.#ts.push(ts);
    this.#startTs.push(startTs);
    this.#blobs.push(blob);
  }

  take(): [Int32Array, Float64Array, Float64Array, readonly Uint8Array[]] {
    const taken: [Int32Array, Float64Array, Float64Array, readonly Uint8Array[]] = [
      Int32Array.from(this.#ids),
      Float64Array.from(this.#ts),
      Float64Array.from(this.#startTs),
      this.#blobs,
    ];
    this.#ids = [];
    this.#ts = [];
    this.#startTs = [];
    this.#blobs = [];
    return taken;
  }
}

export interface SeriesRow {
  readonly labels: Labels;
  readonly fingerprint: Fingerprint;
  readonly rowStart: number;
  readonly rowCount: number;
  readonly histogramStart: number;
  readonly histogramCount: number;
  readonly minTs: number;
  readonly maxTs: number;
  readonly resetCount: number;
  readonly flags: number;
}

/** The current row group of series. */
export class SeriesRows {
  #rows: SeriesRow[] = [];
  #taken = 0;

  /** The number of series so far, which is the next series' id. */
  get count(): number {
    return this.#taken + this.#rows.length;
  }

  get pending(): number {
    return this.#rows.length;
  }

  get isFull(): boolean {
    return this.#rows.length === seriesRowGroupRows;
  }

  add(row: SeriesRow): void {
    this.#rows.push(row);
  }

  take(): (Int32Array | Float64Array | BigInt64Array | string[])[] {
    const rows = this.#rows;
    const first = this.#taken;
    this.#taken += rows.length;
    this.#rows = [];
    const numbers = (of: (row: SeriesRow) => number): Float64Array => Float64Array.from(rows, of);
    return [
      Int32Array.from(rows, (_, index) => first + index),
      BigInt64Array.from(rows, (row) => fingerprintBits(row.fingerprint)),
      rows.map((row) => row.labels.name),
      rows.map((row) => labelsJson(row.labels)),
      numbers((row) => row.rowStart),
      numbers((row) => row.rowCount),
      numbers((row) => row.histogramStart),
      numbers((row) => row.histogramCount),
      numbers((row) => row.minTs),
      numbers((row) => row.maxTs),
      numbers((row) => row.resetCount),
      Int32Array.from(rows, (row) => row.flags),
    ];
  }
}
