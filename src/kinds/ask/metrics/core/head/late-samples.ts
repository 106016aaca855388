/**
 * One series' samples that came out of order, as they came: putting each in its place would take as long as there are
 * samples already, and a sender may send an hour backwards. They are sorted when they are read.
 */
import type { SampleColumns } from "../../../promql/core/index.ts";
import { type HeadSample, SampleBuffer } from "./sample-buffer.ts";

export class LateSamples {
  readonly #buffer = new SampleBuffer();
  readonly #indexOfTs = new Map<number, number>();

  /** There is none for its time yet. */
  add(sample: HeadSample, seq: number): void {
    this.#indexOfTs.set(sample.ts, this.#buffer.count);
    this.#buffer.push(sample, seq);
  }

  find(ts: number): HeadSample | undefined {
    const index = this.#indexOfTs.get(ts);
    return index === undefined ? undefined : this.#buffer.sampleAt(index);
  }

  /** Samples of appends up to `seqMax`, in the order of time: a copy. */
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
