/**
 * The columns of a segment's files. Rows of samples are sorted by series and time. A query reads
 * whole row groups, so they are small, and end where a metric or a series does.
 */
import type { ColumnSpec } from "../../../../data/parquet/core/index.ts";

export const segmentRowGroupRows = 16_384;
/**
 * A row group with this many rows ends before a new metric, and before a series that does not fit.
 */
export const segmentRowGroupCutRows = 2_048;
/** Small, because histograms are long and read one series at a time. */
export const histogramRowGroupRows = 8_192;
/** Small, because texts take long to encode, and a seal yields its thread in between. */
export const seriesRowGroupRows = 8_192;
export const segmentVersion = 1;
export const segmentVersionKey = "capstan.segment";

export const segmentFileNames = {
  series: "series.parquet",
  samples: "samples.parquet",
  histograms: "histograms.parquet",
} as const;
export type SegmentFile = keyof typeof segmentFileNames;

/** One row per series, in the order of (metric name, labels); `series_id` is the row's number. */
export const seriesColumns = [
  { name: "series_id", type: "int32", encoding: "delta" },
  { name: "fingerprint", type: "bigint64" },
  { name: "metric_name", type: "text" },
  { name: "labels", type: "text" },
  { name: "row_start", type: "int64", encoding: "delta" },
  { name: "row_count", type: "int64", encoding: "delta" },
  { name: "histogram_start", type: "int64", encoding: "delta" },
  { name: "histogram_count", type: "int64", encoding: "delta" },
  { name: "min_ts", type: "int64", encoding: "delta" },
  { name: "max_ts", type: "int64", encoding: "delta" },
  { name: "reset_count", type: "int64", encoding: "delta" },
  { name: "flags", type: "int32", encoding: "delta" },
] as const satisfies readonly ColumnSpec[];

/** The bits of `flags`. */
export const seriesFlags = {
  hasStale: 1,
  hasStartTs: 2,
  /** The series falls as often as a gauge: its `reset_sum` is zero and has no meaning. */
  looksLikeGauge: 4,
} as const;

/** The columns of floats and stale markers. */
export const sampleColumns = [
  { name: "series_id", type: "int32", encoding: "delta" },
  { name: "ts", type: "int64", encoding: "delta" },
  { name: "value", type: "double", encoding: "best" },
  { name: "stale", type: "boolean" },
  { name: "start_ts", type: "int64", encoding: "delta" },
  /** What a counter lost at its resets in this segment, up to and including this row. */
  { name: "reset_sum", type: "double", encoding: "best" },
] as const satisfies readonly ColumnSpec[];

export const histogramColumns = [
  { name: "series_id", type: "int32", encoding: "delta" },
  { name: "ts", type: "int64", encoding: "delta" },
  { name: "start_ts", type: "int64", encoding: "delta" },
  { name: "histogram", type: "bytes" },
] as const satisfies readonly ColumnSpec[];

/** The columns that a worker decodes and caches by row group. */
export type CachedColumn = "ts" | "value" | "stale" | "start_ts";
