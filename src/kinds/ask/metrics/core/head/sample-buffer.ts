/**
 * Growing columns of one series' samples in order of arrival, each with the number of its append.
 */
import type { FloatHistogram, SampleColumns } from "../../../promql/core/index.ts";
import { firstAfter } from "../sample-pieces.ts";

export interface HeadSample {
  readonly ts: number;
  readonly value: number;
  readonly isStale: boolean;
  /** 0 when unknown. */
  readonly startTs: number;
  readonly histogram: FloatHistogram | undefined;
}

const initialCapacity = 16;

export class SampleBuffer {
  count = 0;
  #capacity = 0;
  #ts = new Float64Array(0);
  #values = new Float64Array(0);
  /** Relative to the generation's first append, so that 32 bits are enough. */
  #seqs = new Uint32Array(0);
  #stale: Uint8Array | undefined;
  #startTs: Float64Array | undefined;
  #histograms: (FloatHistogram | undefined)[] | undefined;

  /** The hot path: appends a plain float. */
  pushFloat(ts: number, value: number, seq: number): void {
    const at = this.count;
    if (at === this.#capacity) this.#grow();
    this.#ts[at] = ts;
    this.#values[at] = value;
    this.#seqs[at] = seq;
    this.count = at + 1;
  }

  push(sample: HeadSample, seq: number): void {
    this.pushFloat(sample.ts, sample.value, seq);
    this.#setRest(this.count - 1, sample);
  }

  /** The index of the sample at that time, or -1. The samples must be in order of time. */
  find(ts: number): number {
    const at = firstAfter(this.#ts, this.count, ts) - 1;
    return at >= 0 && this.#ts[at] === ts ? at : -1;
  }

  sampleAt(index: number): HeadSample {
    return {
      ts: this.#ts[index] as number,
      value: this.#values[index] as number,
      isStale: this.#stale?.[index] === 1,
      startTs: this.#startTs?.[index] ?? 0,
      histogram: this.#histograms?.[index],
    };
  }

  /** Samples of appends up to `seqMax`, as views that later pushes do not change. */
  prefix(seqMax: number): SampleColumns {
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#seqs[middle] as number) <= seqMax) low = middle + 1;
      else high = middle;
    }
    return {
      count: low,
      ts: this.#ts.subarray(0, low),
      values: this.#values.subarray(0, low),
      stale: this.#stale?.subarray(0, low),
      startTs: this.#startTs?.subarray(0, low),
      histograms: this.#histograms === undefined ? undefined : this.#histogramsTo(low),
    };
  }

  #histogramsTo(count: number): (FloatHistogram | undefined)[] {
    const all = this.#histograms ?? [];
    return Array.from({ length: count }, (_, index) => all[index]);
  }

  #setRest(at: number, { isStale, startTs, histogram }: HeadSample): void {
    if (isStale) {
      this.#stale ??= new Uint8Array(this.#capacity);
      this.#stale[at] = 1;
    }
    if (startTs !== 0) {
      this.#startTs ??= new Float64Array(this.#capacity);
      this.#startTs[at] = startTs;
    }
    if (histogram !== undefined) {
      this.#histograms ??= [];
      while (this.#histograms.length < at) this.#histograms.push(undefined);
      this.#histograms[at] = histogram;
    }
  }

  #grow(): void {
    const capacity = Math.max(initialCapacity, this.#capacity * 2);
    // One allocation for the three columns: a head has a hundred thousand of these buffers.
    const memory = new ArrayBuffer(capacity * 20);
    const ts = new Float64Array(memory, 0, capacity);
    const values = new Float64Array(memory, capacity * 8, capacity);
    const seqs = new Uint32Array(memory, capacity * 16, capacity);
    ts.set(this.#ts);
    values.set(this.#values);
    seqs.set(this.#seqs);
    this.#ts = ts;
    this.#values = values;
    this.#seqs = seqs;
    if (this.#stale !== undefined) this.#stale = grown(this.#stale, new Uint8Array(capacity));
    if (this.#startTs !== undefined) {
      this.#startTs = grown(this.#startTs, new Float64Array(capacity));
    }
    this.#capacity = capacity;
  }
}

function grown<T extends Uint8Array | Float64Array>(old: T, wide: T): T {
  wide.set(old);
  return wide;
}
