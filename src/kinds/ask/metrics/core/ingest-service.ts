/** Samples in, and what is known about them. The thread that owns the head is behind it. */
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
  /** 204, 400 (refused whole, or in part: `message` says what), 415, 429 or 503. */
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
  /** Absent: told by the text. */
  readonly format?: "openmetrics" | "prometheus" | undefined;
  /** What a line that cannot be read does: fail the whole import, or be left out and counted. */
  readonly onError: "fail" | "skip";
}

export interface ImportResult extends ImportProgress {
  readonly skipped: number;
  /** The first few of what was left out, each with its line. */
  readonly problems: readonly string[];
}

export interface IngestService {
  /**
   * The body as it came: compressed, of the content type's protocol. Resolves when what it counts is durable. A body that
   * has its buffer to itself is taken over: it is empty afterwards.
   */
  remoteWrite(
    body: Uint8Array,
    contentType: string,
    contentEncoding: string,
  ): Promise<RemoteWriteResult>;
  /** In-process writers, tests and the conformance suite. */
  append(batch: SampleBatch): Promise<AppendOutcome>;
  snapshot(): Promise<HeadSnapshot>;
  /**
   * Samples with timestamps, as text. All of them become visible at once, or, when a line is bad, the stream fails or
   * `signal` aborts, none. Throws `bad_request` with the line's number. Chunks are taken over as bodies are.
   */
  import(
    chunks: AsyncIterable<Uint8Array>,
    options: ImportOptions,
    onProgress: (progress: ImportProgress) => void,
    signal: AbortSignal,
  ): Promise<ImportResult>;
  /** Everything in the head becomes segments, now. */
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

/** A process's own metrics, scraped without a network. */
/** Metrics as a scrape answers them. */
export interface ScrapedText {
  /** Says which text format it is; only OpenMetrics has exemplars. */
  readonly contentType: string;
  readonly text: string;
}

export interface SelfTargetOptions {
  readonly job: string;
  readonly instance: string;
  readonly intervalMs: number;
  read(): Promise<ScrapedText>;
}

/** What the process that owns the head has of it besides. */
export interface Ingest extends IngestService {
  /** Resolves if it breaks; never when it is closed. */
  readonly failure: Promise<OperatingError>;
  /**
   * Scrapes what the text says from now on, and nothing else but this process. Gives what it ignored of it. Throws
   * `bad_request` with the line's number; then everything stays as it was.
   */
  applyScrapeConfig(text: string, baseDir: string): Promise<readonly string[]>;
  addSelfTarget(self: SelfTargetOptions): Promise<void>;
}
