/** Metrics: ingest, the head and segments that keep samples, and how workers read them. */

import "./core/error-codes.ts";

export { fingerprint, shardOf } from "./core/fingerprint.ts";
export { earliestOf } from "./core/head/head.ts";
export type {
  AppendOutcome,
  Exemplar,
  HeadSnapshot,
  HeadStats,
  ImportOptions,
  ImportProgress,
  ImportResult,
  Ingest,
  IngestService,
  MetricMetadata,
  RemoteWriteResult,
  SampleBatch,
  ScrapedText,
  SegmentInfo,
  SelfTargetOptions,
  TargetStatus,
} from "./core/index.ts";
export { joinPieces } from "./core/sample-pieces.ts";
export { parseHeadSnapshot } from "./fs/head-server.ts";
export { findLogDamage } from "./fs/read-log.ts";
export { readScrapeConfig, type ScrapeConfigFile } from "./fs/read-scrape-config.ts";
export { type LogRepair, repairLog, requireLog, type TimeSpan } from "./fs/repair-log.ts";
export { SegmentWriter } from "./fs/segment-writer.ts";
export type { LogLease } from "./fs/take-log.ts";
export { startIngest } from "./ingest/start-ingest.ts";
export { type CollectRequest, iterateSeries } from "./segments/collect-series.ts";
export { decodeRawSeries, encodeRawSeries } from "./segments/raw-series-codec.ts";
export {
  type ColumnCache,
  type DecodedColumn,
  openSegment,
  type SegmentReader,
} from "./segments/segment-reader.ts";
export { SeriesInterner } from "./segments/series-interner.ts";
export { checkSegments, type SegmentsReport } from "./store/check-segments.ts";
export { Maintenance } from "./store/maintenance.ts";
export {
  SegmentCatalog,
  visibleSegments,
} from "./store/segment-catalog.ts";
export { SegmentScrubber, segmentFilesOf } from "./store/segment-scrub.ts";
