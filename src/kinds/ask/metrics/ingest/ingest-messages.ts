/** The requests between a process and its ingest thread. */
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

/** Settings of the head; absent ones have its defaults. */
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
  /** The epoch of the lease under which the log is opened. */
  readonly leaseEpoch: number;
  readonly head: HeadSettings;
  readonly server: HeadServerSettings;
  /** The user agent that scraped targets see. */
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
      /** The number of this process's metrics source, for `readSelf`. */
      readonly self: number;
      readonly job: string;
      readonly instance: string;
      readonly intervalMs: number;
    }): void;
  };
  readonly notes: Record<never, never>;
}

/** What the thread asks of the process. */
export interface IngestOwner {
  readonly requests: {
    publish(add: readonly SegmentInfo[]): void;
    publishedSealSeq(lineage: string): number;
    confirmLease(): { readonly validForMs: number };
    readSelf(self: number): ScrapedText;
  };
  readonly notes: {
    /** Why samples are refused for want of space; undefined when they are accepted again. */
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
