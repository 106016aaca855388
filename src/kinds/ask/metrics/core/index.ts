/** Metrics as they are written and kept. Pure. */
import "./error-codes.ts";

export type {
  HeadStats,
  ImportOptions,
  ImportProgress,
  ImportResult,
  Ingest,
  IngestService,
  RemoteWriteResult,
  ScrapedText,
  SelfTargetOptions,
  TargetStatus,
} from "./ingest-service.ts";
export type {
  AppendOutcome,
  Exemplar,
  HeadSnapshot,
  MetricMetadata,
  SampleBatch,
  SegmentChecksums,
  SegmentInfo,
} from "./model.ts";
