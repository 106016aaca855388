/** Metrics as they are written and kept. Pure. */
export type {
  HeadStats,
  ImportOptions,
  ImportProgress,
  ImportResult,
  Ingest,
  IngestService,
  RemoteWriteResult,
  SelfTargetOptions,
  TargetStatus,
} from "./ingest-service.ts";
export type {
  AppendOutcome,
  Exemplar,
  HeadSnapshot,
  MetricMetadata,
  SampleBatch,
  SegmentInfo,
} from "./model.ts";
