/** What the head knows of a series, and the generations that hold its samples. */
import type {
  FloatHistogram,
  Labels,
  RawSeries,
  SampleColumns,
} from "../../../promql/core/index.ts";
import { type Fingerprint, fingerprint } from "../fingerprint.ts";
import { joinPieces } from "../sample-pieces.ts";
import { LateSamples } from "./late-samples.ts";
import { type HeadSample, SampleBuffer } from "./sample-buffer.ts";

/** One series, for as long as the head knows it. */
export class SeriesEntry {
  readonly ref: number;
  readonly labels: Labels;
  readonly fingerprint: Fingerprint;
  /** Ascending by generation; the last may belong to the current one. */
  chunks: SeriesChunk[] = [];
  /** The generation whose log defines the series. */
  loggedIn = -1;
  /** The newest sample, sealed or not. Plain fields, because they change with every append. */
  lastTs = -Infinity;
  lastValue = 0;
  lastIsStale = false;
  lastHistogram: FloatHistogram | undefined;

  constructor(ref: number, labels: Labels) {
    this.ref = ref;
    this.labels = labels;
    this.fingerprint = fingerprint(labels);
  }
}

/** One series' samples of one generation. */
export class SeriesChunk {
  readonly entry: SeriesEntry;
  readonly generation: Generation;
  readonly inOrder: SampleBuffer = new SampleBuffer();
  late: LateSamples | undefined;

  constructor(entry: SeriesEntry, generation: Generation) {
    this.entry = entry;
    this.generation = generation;
  }

  /** The samples of appends up to `seqMax`, which is relative to the generation (MH3). */
  view(seqMax: number): SampleColumns | undefined {
    const pieces = [this.inOrder.prefix(seqMax)];
    if (this.late !== undefined) pieces.push(this.late.view(seqMax));
    return joinPieces(pieces.filter(({ count }) => count > 0));
  }

  find(ts: number): HeadSample | undefined {
    const at = this.inOrder.find(ts);
    if (at >= 0) return this.inOrder.sampleAt(at);
    return this.late?.find(ts);
  }
}

/** The samples appended between two freezes. */
export class Generation {
  readonly number: number;
  /** The number of the last append before this generation. */
  readonly seqBase: number;
  readonly chunks: SeriesChunk[] = [];
  sampleCount = 0;
  /** Buckets of its histograms: each takes about as much memory as a sample. */
  bucketCount = 0;
  minTs = Infinity;
  maxTs = -Infinity;
  /** When its first samples came, by the monotonic clock. */
  firstAppendMs: number | undefined;
  /** Views of later appends than this find its samples in segments. */
  publishedAtSeq = Infinity;

  constructor(number: number, seqBase: number) {
    this.number = number;
    this.seqBase = seqBase;
  }

  /** The size of its samples and buckets, counted in samples. */
  get weight(): number {
    return this.sampleCount + this.bucketCount;
  }

  /** Yields all of its series, in no order. */
  *series(): Generator<RawSeries & { readonly fingerprint: Fingerprint }> {
    for (const chunk of this.chunks) {
      const samples = chunk.view(Infinity);
      if (samples === undefined) continue;
      const { labels, fingerprint: print } = chunk.entry;
      yield { labels, samples, fingerprint: print };
    }
  }
}

/** The sample with that time, from whichever generation in the head has it. */
export function findSample(entry: SeriesEntry, ts: number): HeadSample | undefined {
  if (entry.lastTs === ts) {
    const { lastValue: value, lastIsStale: isStale, lastHistogram: histogram } = entry;
    return { ts, value, isStale, startTs: 0, histogram };
  }
  for (const chunk of entry.chunks) {
    const found = chunk.find(ts);
    if (found !== undefined) return found;
  }
  return undefined;
}

export function chunkOf(entry: SeriesEntry, generation: Generation): SeriesChunk {
  const last = entry.chunks.at(-1);
  if (last !== undefined && last.generation === generation) return last;
  const chunk = new SeriesChunk(entry, generation);
  entry.chunks.push(chunk);
  generation.chunks.push(chunk);
  return chunk;
}

export function addSample(
  entry: SeriesEntry,
  generation: Generation,
  sample: HeadSample,
  seq: number,
): void {
  const chunk = chunkOf(entry, generation);
  if (sample.ts > entry.lastTs) {
    chunk.inOrder.push(sample, seq);
    entry.lastTs = sample.ts;
    entry.lastValue = sample.value;
    entry.lastIsStale = sample.isStale;
    entry.lastHistogram = sample.histogram;
  } else {
    chunk.late ??= new LateSamples();
    chunk.late.add(sample, seq);
  }
  generation.sampleCount += 1;
  generation.bucketCount += bucketCountOf(sample.histogram);
  generation.minTs = Math.min(generation.minTs, sample.ts);
  generation.maxTs = Math.max(generation.maxTs, sample.ts);
}

function bucketCountOf(histogram: HeadSample["histogram"]): number {
  if (histogram === undefined) return 0;
  const { positiveBuckets, negativeBuckets, customValues } = histogram;
  return positiveBuckets.length + negativeBuckets.length + customValues.length;
}
