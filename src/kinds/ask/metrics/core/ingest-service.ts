/**
 * The service that takes samples in and answers about metadata and exemplars. A thread behind it
 * owns the head.
 */
import type { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Matcher } from "../../promql/core/index.ts";
import type {
  AppendOutcome,
  Exemplar,
  HeadSnapshot,
  MetricMetadata,
  SampleBatch,
} from "./model.ts";

export interface RemoteWriteResult {
  /** 204, 400 (refused, whole or in part; `message` says why), 415, 429 or 503. */
  readonly status: number;
  readonly message: string | undefined;
  readonly samples: number;
  readonly histograms: number;
  readonly exemplars: number;
}

export interface TargetStatus {
  readonly pool: string;
  readonly url: string;
  readonly discoveredLabels: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly health: "up" | "down" | "unknown";
  readonly lastError: string;
  readonly lastScrapeMs: number | undefined;
  readonly lastDurationMs: number | undefined;
  readonly intervalMs: number;
  readonly timeoutMs: number;
}

export interface HeadStats {
  readonly seriesCount: number;
  readonly sampleCount: number;
  readonly minTs: number;
  readonly maxTs: number;
  readonly walBytes: number;
  readonly sealSeq: number;
  readonly appendSeq: number;
}

export interface ImportProgress {
  readonly bytes: number;
  readonly samples: number;
  readonly series: number;
}

export interface ImportOptions {
  /** Detected from the text when absent. */
  readonly format?: "openmetrics" | "prometheus" | undefined;
  /** Whether an unreadable line fails the whole import or is skipped and counted. */
  readonly onError: "fail" | "skip";
}

export interface ImportResult extends ImportProgress {
  readonly skipped: number;
  /** The first few skipped lines, each with its line number. */
  readonly problems: readonly string[];
}

export interface IngestService {
  /**
   * `body` is compressed, in the protocol of its content type. Resolves when the samples that the
   * result counts are durable. A body that owns its buffer is transferred: it is empty afterwards.
   */
  remoteWrite(
    body: Uint8Array,
    contentType: string,
    contentEncoding: string,
  ): Promise<RemoteWriteResult>;
  /** For in-process writers, tests and the conformance suite. */
  append(batch: SampleBatch): Promise<AppendOutcome>;
  snapshot(): Promise<HeadSnapshot>;
  /**
   * Imports text samples with timestamps. They become visible all at once. If a line is bad, the
   * stream fails or `signal` aborts, none does. Throws `bad_request` with the line's number. Chunks
   * are transferred like bodies.
   */
  import(
    chunks: AsyncIterable<Uint8Array>,
    options: ImportOptions,
    onProgress: (progress: ImportProgress) => void,
    signal: AbortSignal,
  ): Promise<ImportResult>;
  /** Turns everything in the head into segments now. */
  seal(): Promise<void>;
  metadata(metric: string | undefined): Promise<readonly MetricMetadata[]>;
  exemplars(
    matcherSets: readonly (readonly Matcher[])[],
    startMs: number,
    endMs: number,
  ): Promise<readonly Exemplar[]>;
  targets(): Promise<readonly TargetStatus[]>;
  stats(): Promise<HeadStats>;
  close(): Promise<void>;
}

/** Metrics as a scrape answers them. */
export interface ScrapedText {
  /** Names the text format; only OpenMetrics has exemplars. */
  readonly contentType: string;
  readonly text: string;
}

export interface SelfTargetOptions {
  readonly job: string;
  readonly instance: string;
  readonly intervalMs: number;
  read(): Promise<ScrapedText>;
}

/** The ingest service in the process that owns the head. */
export interface Ingest extends IngestService {
  /** Resolves when the thread breaks; never after a close. */
  readonly failure: Promise<OperatingError>;
  /**
   * From now on scrapes only what the text says, and this process. Returns what it ignored in the
   * text. Throws `bad_request` with the line's number; then nothing changes.
   */
  applyScrapeConfig(text: string, baseDir: string): Promise<readonly string[]>;
  addSelfTarget(self: SelfTargetOptions): Promise<void>;
}
