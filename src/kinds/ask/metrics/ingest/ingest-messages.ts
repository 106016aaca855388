/** What a process and its ingest thread ask each other. */
import type { LogFields } from "../../../../ground/kernel/logger.ts";
import type { Matcher } from "../../promql/core/index.ts";
import type { LabelLimits } from "../core/ingest/label-limits.ts";
import type { WriteProtocol } from "../core/ingest/wire/write-decoder.ts";
import type {
  HeadStats,
  RemoteWriteResult,
  ScrapedText,
  TargetStatus,
} from "../core/ingest-service.ts";
import type { AppendOutcome, HeadSnapshot, MetricMetadata, SegmentInfo } from "../core/model.ts";
import type { HeadServerOptions } from "../fs/head-server.ts";
import type { MetricsDbOptions } from "../fs/metrics-db.ts";
import type { BatchMessage, ExemplarMessage } from "./batch-message.ts";

/** The head's limits and habits; absent ones are its defaults. */
export type HeadSettings = Omit<
  MetricsDbOptions,
  | "clock"
  | "lakeDir"
  | "lease"
  | "logger"
  | "openLog"
  | "prng"
  | "publish"
  | "publishedSealSeq"
  | "url"
  | "walDir"
>;

export type HeadServerSettings = Pick<
  HeadServerOptions,
  "advertisedHost" | "host" | "port" | "sliceBytesMax" | "slicesMax" | "tls" | "token"
>;

export interface IngestThreadOptions {
  readonly walDir: string;
  readonly lakeDir: string;
  /** Of the lease under which the log is opened. */
  readonly leaseEpoch: number;
  readonly head: HeadSettings;
  readonly server: HeadServerSettings;
  /** Names that scraped targets see. */
  readonly userAgent: string;
  readonly offsetSeed: string;
  readonly labelLimits: LabelLimits;
}

export interface IngestThread {
  readonly requests: {
    remoteWrite(write: {
      readonly body: Uint8Array;
      readonly protocol: WriteProtocol;
    }): RemoteWriteResult;
    append(batch: BatchMessage): AppendOutcome;
    snapshot(): HeadSnapshot;
    seal(): void;
    metadata(metric: string | undefined): readonly MetricMetadata[];
    exemplars(query: {
      readonly matcherSets: readonly (readonly Matcher[])[];
      readonly startMs: number;
      readonly endMs: number;
    }): readonly ExemplarMessage[];
    targets(): readonly TargetStatus[];
    stats(): HeadStats;
    applyScrapeConfig(config: {
      readonly text: string;
      readonly baseDir: string;
    }): readonly string[];
    addSelfTarget(target: {
      /** Its number, for `readSelf`. */
      readonly self: number;
      readonly job: string;
      readonly instance: string;
      readonly intervalMs: number;
    }): void;
  };
  readonly notes: Record<never, never>;
}

/** What the thread needs of the process. */
export interface IngestOwner {
  readonly requests: {
    publish(add: readonly SegmentInfo[]): void;
    publishedSealSeq(lineage: string): number;
    confirmLease(): { readonly validForMs: number };
    readSelf(self: number): ScrapedText;
  };
  readonly notes: {
    /** Samples are refused for want of room, and why; `undefined`: they are taken again. */
    room: string | undefined;
    log: LogMessage;
  };
}

export type LogLevel = "debug" | "info" | "warn" | "error";

export interface LogMessage {
  readonly level: LogLevel;
  readonly fields: LogFields;
  readonly message: string;
}
