/**
 * One series' out-of-order samples, in order of arrival. They are sorted when they are read:
 * inserting each in its place is quadratic, and a sender may send an hour backwards.
 */
import type { SampleColumns } from "../../../promql/core/index.ts";
import { type HeadSample, SampleBuffer } from "./sample-buffer.ts";

export class LateSamples {
  readonly #buffer = new SampleBuffer();
  readonly #indexOfTs = new Map<number, number>();

  /** The caller made sure that there is no sample for this time yet. */
  add(sample: HeadSample, seq: number): void {
    this.#indexOfTs.set(sample.ts, this.#buffer.count);
    this.#buffer.push(sample, seq);
  }

  find(ts: number): HeadSample | undefined {
    const index = this.#indexOfTs.get(ts);
    return index === undefined ? undefined : this.#buffer.sampleAt(index);
  }

  /** A copy of the samples of appends up to `seqMax`, in order of time. */
  view(seqMax: number): SampleColumns {
    const { count, ts, values, stale, startTs, histograms } = this.#buffer.prefix(seqMax);
    const order = Uint32Array.from({ length: count }, (_, index) => index);
    order.sort((a, b) => (ts[a] as number) - (ts[b] as number));
    const floats = (column: Float64Array): Float64Array =>
      Float64Array.from(order, (index) => column[index] as number);
    return {
      count,
      ts: floats(ts),
      values: floats(values),
      stale: stale && Uint8Array.from(order, (index) => stale[index] as number),
      startTs: startTs && floats(startTs),
      histograms: histograms && Array.from(order, (index) => histograms[index]),
    };
  }
}
