/**
 * Metrics as they are written and kept: batches on the way in, the head that holds what is not sealed yet, and the
 * segments that hold the rest.
 */
import type { FloatHistogram, Labels } from "../../promql/core/index.ts";
import type { SegmentFile } from "./segment-schema.ts";

/** Samples of one write, by columns. Times are milliseconds since 1970. */
export interface SampleBatch {
  readonly series: readonly Labels[];
  readonly count: number;
  /** For each sample, its series: an index of `series`. */
  readonly seriesIndex: Uint32Array;
  readonly ts: Float64Array;
  /** Of a histogram sample: anything. */
  readonly values: Float64Array;
  /** 1: a stale marker. Absent: there is none. */
  readonly stale: Uint8Array | undefined;
  readonly histograms: readonly (FloatHistogram | undefined)[] | undefined;
  /** 0 where unknown. Absent: unknown for all. */
  readonly startTs: Float64Array | undefined;
  readonly metadata: readonly MetricMetadata[];
  readonly exemplars: readonly Exemplar[];
}

export interface MetricMetadata {
  readonly metric: string;
  readonly type:
    | "counter"
    | "gauge"
    | "histogram"
    | "gaugehistogram"
    | "summary"
    | "info"
    | "stateset"
    | "unknown";
  readonly help: string;
  readonly unit: string;
}

export interface Exemplar {
  readonly series: Labels;
  readonly labels: Labels;
  readonly value: number;
  readonly ts: number;
}

/** What became of a batch. Everything that is not counted as refused is durable and visible. */
export interface AppendOutcome {
  readonly appended: number;
  readonly histogramsAppended: number;
  readonly exemplarsAppended: number;
  /** The same sample was there already. */
  readonly duplicates: number;
  /** Another value was there for that time. */
  readonly conflicts: number;
  /** Older than the out-of-order window allows. */
  readonly tooOld: number;
  /** Further in the future than allowed. */
  readonly tooNew: number;
  /** The first thing that was refused, in Prometheus's words. */
  readonly firstProblem: string | undefined;
}

/** An immutable pair of files. Its samples are those of one shard of the series, over one span of time. */
export interface SegmentInfo {
  readonly segmentId: string;
  /** Grows with every seal; a compaction takes the least of what it replaces. Of two samples for one time, the one with the lower number counts. */
  readonly seq: number;
  /** 0: sealed from the head. More: compacted. */
  readonly level: number;
  readonly minTs: number;
  readonly maxTs: number;
  /** A power of two. The segment has the series whose fingerprint's first bits are `shard`. */
  readonly shardCount: number;
  readonly shard: number;
  readonly seriesCount: number;
  readonly sampleCount: number;
  readonly histogramCount: number;
  readonly sizeBytes: number;
  /** In order. Absent: too many to list; it may have any. */
  readonly metricNames: readonly string[] | undefined;
  /** The directory of its files, relative to the lake's. */
  readonly path: string;
  /** When the seal that made its youngest samples durable happened: the head's `sealSeq`. */
  readonly sealSeq: number;
  /** Absent: nobody knows them yet. */
  readonly checksums?: SegmentChecksums;
}

/** CRC-32 of each of its files, whole. */
export type SegmentChecksums = Readonly<Partial<Record<SegmentFile, number>>>;

/**
 * A moment of the head. A query takes one, then lists the segments; what was sealed since is still in the head for it.
 */
export interface HeadSnapshot {
  /** Where workers pull slices: `http://host:port`. */
  readonly url: string;
  /** Of the process that owns the head: a slice of another incarnation is refused. */
  readonly incarnation: string;
  /** Samples of later appends are not in the slice. */
  readonly appendSeq: number;
  readonly minTs: number;
  readonly maxTs: number;
  readonly sampleCount: number;
  readonly seriesCount: number;
}
