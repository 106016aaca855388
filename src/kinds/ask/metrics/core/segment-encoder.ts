/**
 * Encodes the files of one segment, for seal, compaction and import alike. Pure: series go in, and
 * `drain` returns pieces of files in order, which the caller writes to disk.
 *
 * Series must come in the order of (metric name, labels), each once, with strictly ascending times.
 * The same series give the same bytes. Only the current row group and the rows of the series table
 * are held in memory.
 */

import { ParquetEncoder, type ParquetRuntime } from "../../../../data/parquet/core/index.ts";
import { assert } from "../../../../ground/kernel/errors.ts";
import {
  compareLabels,
  compareText,
  type Labels,
  type RawSeries,
  type SampleColumns,
} from "../../promql/core/index.ts";
import { type Fingerprint, fingerprint } from "./fingerprint.ts";
import { encodeHistogram } from "./histogram-bytes.ts";
import { HistogramRows, SampleRows, SeriesRows } from "./segment-rows.ts";
import {
  histogramColumns,
  type SegmentFile,
  sampleColumns,
  segmentRowGroupCutRows,
  segmentRowGroupRows,
  segmentVersion,
  segmentVersionKey,
  seriesColumns,
  seriesFlags,
} from "./segment-schema.ts";

export interface SegmentPiece {
  readonly file: SegmentFile;
  readonly bytes: Uint8Array;
}

/** The content of the segment, for its `SegmentInfo`. */
export interface SegmentContent {
  readonly minTs: number;
  readonly maxTs: number;
  readonly seriesCount: number;
  /** Counts floats, stale markers and histograms. */
  readonly sampleCount: number;
  readonly histogramCount: number;
  readonly sizeBytes: number;
  readonly metricNames: readonly string[] | undefined;
}

/** A segment with more names does not list them. */
const metricNamesMax = 256;
/** A series that falls at more than one in this many samples is not a counter. */
const gaugeShare = 16;

/** The order of (metric name, labels): label order, except that the name is compared first. */
export function compareSeries(a: Labels, b: Labels): number {
  const order = compareText(a.name, b.name);
  return order !== 0 ? order : compareLabels(a, b);
}

export class SegmentEncoder {
  readonly #samples: ParquetEncoder;
  readonly #histograms: ParquetEncoder;
  readonly #series: ParquetEncoder;
  readonly #rows = new SampleRows();
  readonly #histogramRows = new HistogramRows();
  readonly #table = new SeriesRows();
  #pieces: SegmentPiece[] = [];
  #last: Labels | undefined;
  #rowCount = 0;
  #histogramCount = 0;
  #minTs = Infinity;
  #maxTs = -Infinity;
  #sizeBytes = 0;
  #names: string[] | undefined = [];

  constructor(runtime: ParquetRuntime) {
    const options = { keyValues: { [segmentVersionKey]: `${segmentVersion}` } };
    this.#samples = new ParquetEncoder(sampleColumns, runtime, options);
    this.#histograms = new ParquetEncoder(histogramColumns, runtime, options);
    this.#series = new ParquetEncoder(seriesColumns, runtime, options);
  }

  /** The samples so far, which decide when to yield and when to start the next segment. */
  get sampleCount(): number {
    return this.#rowCount + this.#histogramCount;
  }

  /** A series without samples is ignored. */
  add({ labels, samples }: RawSeries, known?: Fingerprint): void {
    if (samples.count === 0) return;
    assert(this.#last === undefined || compareSeries(this.#last, labels) < 0, "series in order");
    this.#cutBefore(labels, samples.count);
    this.#last = labels;
    const rowStart = this.#rowCount;
    const histogramStart = this.#histogramCount;
    const resets = new ResetWalk(samples);
    this.#addSamples(this.#table.count, samples, resets);
    const [minTs, maxTs] = [samples.ts[0] as number, samples.ts[samples.count - 1] as number];
    this.#minTs = Math.min(this.#minTs, minTs);
    this.#maxTs = Math.max(this.#maxTs, maxTs);
    this.#noteName(labels.name);
    this.#table.add({
      labels,
      fingerprint: known ?? fingerprint(labels),
      rowStart,
      rowCount: this.#rowCount - rowStart,
      histogramStart,
      histogramCount: this.#histogramCount - histogramStart,
      minTs,
      maxTs,
      resetCount: resets.count,
      flags: flagsOf(samples, resets),
    });
    if (this.#table.isFull) this.#push("series", this.#series.rowGroup(this.#table.take()));
  }

  finish(): SegmentContent {
    if (this.#rows.count > 0) this.#pushSamples();
    if (this.#histogramRows.count > 0) this.#pushHistograms();
    if (this.#table.pending > 0) this.#push("series", this.#series.rowGroup(this.#table.take()));
    this.#push("samples", this.#samples.end());
    if (this.#histogramCount > 0) this.#push("histograms", this.#histograms.end());
    this.#push("series", this.#series.end());
    return {
      minTs: this.#minTs,
      maxTs: this.#maxTs,
      seriesCount: this.#table.count,
      sampleCount: this.sampleCount,
      histogramCount: this.#histogramCount,
      sizeBytes: this.#sizeBytes,
      metricNames: this.#names,
    };
  }

  /** The pieces that became ready since the last call. */
  drain(): SegmentPiece[] {
    const pieces = this.#pieces;
    this.#pieces = [];
    return pieces;
  }

  /** Ends the row group early where the next series should start a new one. */
  #cutBefore(labels: Labels, sampleCount: number): void {
    if (this.#rows.count < segmentRowGroupCutRows) return;
    const hasRoom = this.#rows.count + sampleCount <= segmentRowGroupRows;
    if (!hasRoom || this.#last?.name !== labels.name) this.#pushSamples();
  }

  #addSamples(id: number, samples: SampleColumns, resets: ResetWalk): void {
    const { ts, values, stale, histograms, startTs } = samples;
    for (let index = 0; index < samples.count; index += 1) {
      const at = ts[index] as number;
      assert(index === 0 || at > (ts[index - 1] as number), "samples in order");
      const startedAt = startTs === undefined ? 0 : (startTs[index] as number);
      const histogram = histograms?.[index];
      if (histogram !== undefined) {
        this.#histogramRows.add(id, at, startedAt, encodeHistogram(histogram));
        this.#histogramCount += 1;
        if (this.#histogramRows.isFull) this.#pushHistograms();
        continue;
      }
      const isStale = stale !== undefined && stale[index] !== 0;
      // A marker's value has no meaning; NaN compresses well.
      const value = isStale ? NaN : (values[index] as number);
      this.#rows.add(id, at, value, isStale ? 1 : 0, startedAt, resets.sumAt(index));
      this.#rowCount += 1;
      if (this.#rows.isFull) this.#pushSamples();
    }
  }

  #pushSamples(): void {
    this.#push("samples", this.#samples.rowGroup(this.#rows.take()));
  }

  #pushHistograms(): void {
    this.#push("histograms", this.#histograms.rowGroup(this.#histogramRows.take()));
  }

  #push(file: SegmentFile, bytes: Uint8Array): void {
    this.#pieces.push({ file, bytes });
    this.#sizeBytes += bytes.length;
  }

  #noteName(name: string): void {
    if (this.#names === undefined || this.#names.at(-1) === name) return;
    if (this.#names.length === metricNamesMax) this.#names = undefined;
    else this.#names.push(name);
  }
}

function flagsOf({ stale, startTs, count }: SampleColumns, resets: ResetWalk): number {
  const has = (column: Uint8Array | Float64Array | undefined): boolean => {
    for (let index = 0; column !== undefined && index < count; index += 1) {
      if (column[index] !== 0) return true;
    }
    return false;
  };
  return (
    (has(stale) ? seriesFlags.hasStale : 0) |
    (has(startTs) ? seriesFlags.hasStartTs : 0) |
    (resets.looksLikeGauge ? seriesFlags.looksLikeGauge : 0)
  );
}

/** Finds the counter resets among a series' floats, then sums them row by row in order. */
class ResetWalk {
  readonly count: number;
  readonly looksLikeGauge: boolean;
  readonly #samples: SampleColumns;
  #last = NaN;
  #sum = 0;

  constructor(samples: SampleColumns) {
    this.#samples = samples;
    let last = NaN;
    let resets = 0;
    for (let index = 0; index < samples.count; index += 1) {
      if (!isFloat(samples, index)) continue;
      const value = samples.values[index] as number;
      if (value < last) resets += 1;
      last = value;
    }
    this.count = resets;
    this.looksLikeGauge = resets * gaugeShare > samples.count;
  }

  /** Called for every row that is not a histogram. */
  sumAt(index: number): number {
    if (this.count === 0 || this.looksLikeGauge || !isFloat(this.#samples, index)) return this.#sum;
    const value = this.#samples.values[index] as number;
    if (value < this.#last) this.#sum += this.#last;
    this.#last = value;
    return this.#sum;
  }
}

function isFloat({ stale, histograms }: SampleColumns, index: number): boolean {
  if (stale !== undefined && stale[index] !== 0) return false;
  return histograms?.[index] === undefined;
}
