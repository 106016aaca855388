/** Builds a `SampleBatch`. Columns that no sample needs stay absent. */
import type { FloatHistogram, Labels } from "../../../promql/core/index.ts";
import type { Exemplar, MetricMetadata, SampleBatch } from "../model.ts";

export class BatchBuilder {
  readonly series: Labels[] = [];
  readonly metadata: MetricMetadata[] = [];
  readonly exemplars: Exemplar[] = [];
  #capacity: number;
  #count = 0;
  #seriesIndex: Uint32Array;
  #ts: Float64Array;
  #values: Float64Array;
  #stale: Uint8Array | undefined;
  #startTs: Float64Array | undefined;
  #histograms: (FloatHistogram | undefined)[] | undefined;
  #histogramCount = 0;

  constructor(capacity = 1_024) {
    this.#capacity = capacity;
    this.#seriesIndex = new Uint32Array(capacity);
    this.#ts = new Float64Array(capacity);
    this.#values = new Float64Array(capacity);
  }

  get count(): number {
    return this.#count;
  }

  get histogramCount(): number {
    return this.#histogramCount;
  }

  /** Returns its index. */
  addSeries(labels: Labels): number {
    return this.series.push(labels) - 1;
  }

  addFloat(series: number, ts: number, value: number): void {
    const index = this.#count;
    if (index === this.#capacity) this.#grow();
    this.#seriesIndex[index] = series;
    this.#ts[index] = ts;
    this.#values[index] = value;
    this.#count = index + 1;
  }

  addStale(series: number, ts: number): void {
    this.addFloat(series, ts, Number.NaN);
    this.#stale ??= new Uint8Array(this.#capacity);
    this.#stale[this.#count - 1] = 1;
  }

  addHistogram(series: number, ts: number, histogram: FloatHistogram): void {
    this.addFloat(series, ts, 0);
    this.#histograms ??= [];
    this.#histograms[this.#count - 1] = histogram;
    this.#histogramCount += 1;
  }

  /** Sets the start of the last sample. A time that is not in exact milliseconds is ignored. */
  setStartTs(startTs: number): void {
    if (!Number.isSafeInteger(startTs)) return;
    this.#startTs ??= new Float64Array(this.#capacity);
    this.#startTs[this.#count - 1] = startTs;
  }

  /** Removes everything added since the batch had `count` samples and `seriesCount` series. */
  truncate(count: number, seriesCount: number): void {
    this.#stale?.fill(0, count, this.#count);
    this.#startTs?.fill(0, count, this.#count);
    if (this.#histograms !== undefined) {
      for (let index = count; index < this.#histograms.length; index += 1) {
        if (this.#histograms[index] !== undefined) this.#histogramCount -= 1;
      }
      this.#histograms.length = Math.min(this.#histograms.length, count);
    }
    this.#count = count;
    this.series.length = seriesCount;
  }

  /** Hands the columns to the batch; the builder must not be used afterwards. */
  build(): SampleBatch {
    const count = this.#count;
    if (this.#histograms !== undefined) {
      const whole: (FloatHistogram | undefined)[] = new Array(count).fill(undefined);
      this.#histograms.forEach((histogram, index) => {
        whole[index] = histogram;
      });
      this.#histograms = whole;
    }
    return {
      series: this.series,
      count,
      seriesIndex: this.#seriesIndex.subarray(0, count),
      ts: this.#ts.subarray(0, count),
      values: this.#values.subarray(0, count),
      stale: this.#stale?.subarray(0, count),
      histograms: this.#histograms,
      startTs: this.#startTs?.subarray(0, count),
      metadata: this.metadata,
      exemplars: this.exemplars,
    };
  }

  #grow(): void {
    const capacity = this.#capacity * 2;
    this.#seriesIndex = copyTo(new Uint32Array(capacity), this.#seriesIndex);
    this.#ts = copyTo(new Float64Array(capacity), this.#ts);
    this.#values = copyTo(new Float64Array(capacity), this.#values);
    if (this.#stale !== undefined) this.#stale = copyTo(new Uint8Array(capacity), this.#stale);
    if (this.#startTs !== undefined) {
      this.#startTs = copyTo(new Float64Array(capacity), this.#startTs);
    }
    this.#capacity = capacity;
  }
}

function copyTo<T extends Uint8Array | Uint32Array | Float64Array>(target: T, source: T): T {
  target.set(source);
  return target;
}
