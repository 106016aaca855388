/**
 * The model of metrics: batches on the way in, the head for what is not sealed yet, and segments
 * for the rest.
 */
import type { FloatHistogram, Labels } from "../../promql/core/index.ts";
import type { SegmentFile } from "./segment-schema.ts";

/** Samples of one write, in columns. Times are milliseconds since 1970. */
export interface SampleBatch {
  readonly series: readonly Labels[];
  readonly count: number;
  /** The index in `series` of each sample's series. */
  readonly seriesIndex: Uint32Array;
  readonly ts: Float64Array;
  /** Arbitrary for a histogram sample. */
  readonly values: Float64Array;
  /** 1 for a stale marker. Undefined when there is none. */
  readonly stale: Uint8Array | undefined;
  readonly histograms: readonly (FloatHistogram | undefined)[] | undefined;
  /** 0 where unknown. Undefined when all are unknown. */
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

/** The result of appending a batch. Every sample not counted as refused is durable and visible. */
export interface AppendOutcome {
  readonly appended: number;
  readonly histogramsAppended: number;
  readonly exemplarsAppended: number;
  /** Samples that the head had already. */
  readonly duplicates: number;
  /** Samples whose time had another value already. */
  readonly conflicts: number;
  /** Samples older than the out-of-order window allows. */
  readonly tooOld: number;
  /** Samples further in the future than allowed. */
  readonly tooNew: number;
  /** The first problem, in Prometheus's words. */
  readonly firstProblem: string | undefined;
}

/** An immutable set of files with the samples of one shard of the series over one span of time. */
export interface SegmentInfo {
  readonly segmentId: string;
  /** Assigned at publication (MC2). Of two samples for one time, the lower `seq` wins (MS6). */
  readonly seq: number;
  /** 0 when sealed from the head, greater when compacted. */
  readonly level: number;
  readonly minTs: number;
  readonly maxTs: number;
  /**
   * A power of two. The segment has the series whose fingerprints begin with the bits of `shard`.
   */
  readonly shardCount: number;
  readonly shard: number;
  readonly seriesCount: number;
  readonly sampleCount: number;
  readonly histogramCount: number;
  readonly sizeBytes: number;
  /** Sorted. Undefined when there are too many to list; then it may have any. */
  readonly metricNames: readonly string[] | undefined;
  /** The directory of its files, relative to the lake's. */
  readonly path: string;
  /** The number of the head's seal that produced its youngest samples. */
  readonly sealSeq: number;
  /** Absent until they are computed. */
  readonly checksums?: SegmentChecksums;
}

/** The CRC-32 of each whole file. */
export type SegmentChecksums = Readonly<Partial<Record<SegmentFile, number>>>;

/** A moment of the head. For a query that has it, the head keeps what is sealed after it. */
export interface HeadSnapshot {
  /** The URL where workers fetch slices: `http://host:port`. */
  readonly url: string;
  /** Identifies the run of the process that owns the head: slices of another run are refused. */
  readonly incarnation: string;
  /** The slice has samples of appends up to this number. */
  readonly appendSeq: number;
  readonly minTs: number;
  readonly maxTs: number;
  readonly sampleCount: number;
  readonly seriesCount: number;
}
