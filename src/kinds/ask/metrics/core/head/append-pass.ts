/** One batch on its way into the head. */
import { type FloatHistogram, withStoredHint } from "../../../promql/core/index.ts";
import { encodeHistogram } from "../histogram-bytes.ts";
import { labelsJson } from "../labels-json.ts";
import type { AppendOutcome, Exemplar, MetricMetadata, SampleBatch } from "../model.ts";
import type { HeadSample } from "./sample-buffer.ts";
import {
  addSample,
  chunkOf,
  findSample,
  type Generation,
  type SeriesEntry,
} from "./series-entry.ts";
import type { WalRecord } from "./wal-record.ts";

export interface HeadAppend {
  readonly outcome: AppendOutcome;
  /** Undefined when the batch has nothing new. */
  readonly record: WalRecord | undefined;
}

/** Below this, milliseconds are not exact, and segments cannot hold them. */
const tsMin = Number.MIN_SAFE_INTEGER;

/** Decides for each sample whether it is accepted, and collects what the log needs. */
export class AppendPass {
  readonly #batch: SampleBatch;
  readonly #generation: Generation;
  readonly #seq: number;
  readonly #futureTsMax: number;
  readonly #outOfOrderMs: number;
  readonly #accepted: Uint32Array;
  readonly #refs: Uint32Array;
  readonly #definitions: [number, string][] = [];
  /** Accepted histograms, each with its index among the accepted samples. */
  readonly #histograms: [number, FloatHistogram][] = [];
  /** Whether the batch has only floats without start timestamps. */
  readonly #isPlain: boolean;
  acceptedCount = 0;
  #duplicates = 0;
  #conflicts = 0;
  #tooOld = 0;
  #tooNew = 0;
  #firstProblem: string | undefined;

  constructor(
    batch: SampleBatch,
    generation: Generation,
    seq: number,
    rules: { readonly futureTsMax: number; readonly outOfOrderMs: number },
  ) {
    this.#batch = batch;
    this.#generation = generation;
    this.#seq = seq - generation.seqBase;
    this.#futureTsMax = rules.futureTsMax;
    this.#outOfOrderMs = rules.outOfOrderMs;
    const { stale, startTs, histograms } = batch;
    this.#isPlain = stale === undefined && startTs === undefined && histograms === undefined;
    this.#accepted = new Uint32Array(batch.count);
    this.#refs = new Uint32Array(batch.count);
  }

  /** Takes one sample. `maxTs` is the newest time before it; returns the newest with it. */
  take(index: number, entry: SeriesEntry, maxTs: number): number {
    const ts = this.#batch.ts[index] as number;
    if (ts > this.#futureTsMax) {
      this.#tooNew += 1;
      this.#problem("out of bounds: timestamp is too far in the future");
      return maxTs;
    }
    if (ts < tsMin) {
      this.#tooOld += 1;
      this.#problem("out of bounds");
      return maxTs;
    }
    const isNext = ts > entry.lastTs;
    if (!isNext) {
      const existing = findSample(entry, ts);
      if (existing !== undefined) {
        this.#meet(existing, this.#sampleAt(index));
        return maxTs;
      }
    }
    if (ts < maxTs - this.#outOfOrderMs || (!isNext && this.#outOfOrderMs === 0)) {
      this.#tooOld += 1;
      const late = this.#outOfOrderMs > 0 ? "too old sample" : "out of order sample";
      this.#problem(isNext ? "out of bounds" : late);
      return maxTs;
    }
    if (isNext && this.#isPlain) this.#addNextFloat(entry, ts, this.#batch.values[index] as number);
    else addSample(entry, this.#generation, this.#stored(index, entry, isNext), this.#seq);
    this.#accept(index, entry);
    return Math.max(ts, maxTs);
  }

  /** The path of nearly every sample: it allocates no object. */
  #addNextFloat(entry: SeriesEntry, ts: number, value: number): void {
    const generation = this.#generation;
    chunkOf(entry, generation).inOrder.pushFloat(ts, value, this.#seq);
    entry.lastTs = ts;
    entry.lastValue = value;
    entry.lastIsStale = false;
    entry.lastHistogram = undefined;
    generation.sampleCount += 1;
    if (ts < generation.minTs) generation.minTs = ts;
    if (ts > generation.maxTs) generation.maxTs = ts;
  }

  #accept(index: number, entry: SeriesEntry): void {
    if (entry.loggedIn !== this.#generation.number) {
      entry.loggedIn = this.#generation.number;
      this.#definitions.push([entry.ref, labelsJson(entry.labels)]);
    }
    this.#accepted[this.acceptedCount] = index;
    this.#refs[this.acceptedCount] = entry.ref;
    this.acceptedCount += 1;
  }

  finish(metadata: readonly MetricMetadata[], exemplars: readonly Exemplar[]): HeadAppend {
    const histograms = this.#histograms;
    const outcome: AppendOutcome = {
      appended: this.acceptedCount - histograms.length,
      histogramsAppended: histograms.length,
      exemplarsAppended: exemplars.length,
      duplicates: this.#duplicates,
      conflicts: this.#conflicts,
      tooOld: this.#tooOld,
      tooNew: this.#tooNew,
      firstProblem: this.#firstProblem,
    };
    if (this.acceptedCount + metadata.length + exemplars.length === 0) {
      return { outcome, record: undefined };
    }
    const { ts, values, stale, startTs } = this.#batch;
    const count = this.acceptedCount;
    const gather = <T extends Float64Array | Uint8Array>(column: T): T => {
      if (count === this.#batch.count) return column.subarray(0, count) as T;
      const gathered = column.slice(0, count) as T;
      for (let at = 0; at < count; at += 1) {
        gathered[at] = column[this.#accepted[at] as number] as number;
      }
      return gathered;
    };
    const record: WalRecord = {
      count,
      refs: this.#refs.subarray(0, count),
      ts: gather(ts),
      values: gather(values),
      stale: stale === undefined ? undefined : gather(stale),
      startTs: startTs === undefined ? undefined : gather(startTs),
      histograms,
      series: this.#definitions,
      metadata,
      exemplars,
    };
    return { outcome, record };
  }

  /** A late histogram is compared with no neighbour, because its neighbours may still change. */
  #stored(index: number, entry: SeriesEntry, isNext: boolean): HeadSample {
    const sample = this.#sampleAt(index);
    if (sample.histogram === undefined) return sample;
    const before = isNext ? entry.lastHistogram : undefined;
    const histogram = withStoredHint(sample.histogram, before);
    this.#histograms.push([this.acceptedCount, histogram]);
    return { ...sample, histogram };
  }

  #sampleAt(index: number): HeadSample {
    const { ts, values, stale, startTs, histograms } = this.#batch;
    return {
      ts: ts[index] as number,
      value: values[index] as number,
      isStale: stale !== undefined && stale[index] === 1,
      startTs: startTs === undefined ? 0 : (startTs[index] as number),
      histogram: histograms?.[index],
    };
  }

  /**
   * Counts the sample as a duplicate or a conflict: the head has one for its time already (MH1).
   */
  #meet(existing: HeadSample, sample: HeadSample): void {
    if (isSame(existing, sample)) {
      this.#duplicates += 1;
      return;
    }
    this.#conflicts += 1;
    this.#problem(conflictText(existing, sample));
  }

  #problem(text: string): void {
    this.#firstProblem ??= text;
  }
}

function isSame(a: HeadSample, b: HeadSample): boolean {
  if (a.isStale || b.isStale) return a.isStale === b.isStale;
  if (a.histogram === undefined || b.histogram === undefined) {
    return a.histogram === b.histogram && Object.is(a.value, b.value);
  }
  // Like Prometheus, the comparison ignores reset hints.
  const counterResetHint = "unknown";
  const left = encodeHistogram({ ...a.histogram, counterResetHint });
  const right = encodeHistogram({ ...b.histogram, counterResetHint });
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}

/** Prometheus's message. */
function conflictText(existing: HeadSample, { ts, value, histogram }: HeadSample): string {
  const prefix = "duplicate sample for timestamp";
  if (histogram !== undefined) return prefix;
  const found = existing.histogram === undefined ? `${existing.value}` : "is a histogram";
  return `${prefix} ${ts}; overrides not allowed: existing ${found}, new value ${value}`;
}
