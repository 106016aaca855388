/** What a process and its ingest thread ask each other. */
import type { ErrorData } from "../../kernel/error-codec.ts";
import type { LogFields } from "../../kernel/logger.ts";
import type { Matcher } from "../../promql/core/index.ts";
import type { LabelLimits } from "../core/ingest/label-limits.ts";
import type { WriteProtocol } from "../core/ingest/wire/write-decoder.ts";
import type { SegmentInfo } from "../core/model.ts";
import type { HeadServerOptions } from "../fs/head-server.ts";
import type { MetricsDbOptions } from "../fs/metrics-db.ts";
import type { BatchMessage } from "./batch-message.ts";
import type { DeskMessage } from "./thread-desk.ts";

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

export type IngestRequest =
  | { readonly kind: "remoteWrite"; readonly body: Uint8Array; readonly protocol: WriteProtocol }
  | { readonly kind: "append"; readonly batch: BatchMessage }
  | { readonly kind: "snapshot" }
  | { readonly kind: "seal" }
  | { readonly kind: "metadata"; readonly metric: string | undefined }
  | {
      readonly kind: "exemplars";
      readonly matcherSets: readonly (readonly Matcher[])[];
      readonly startMs: number;
      readonly endMs: number;
    }
  | { readonly kind: "targets" }
  | { readonly kind: "stats" }
  | { readonly kind: "applyScrapeConfig"; readonly text: string; readonly baseDir: string }
  | {
      readonly kind: "addSelfTarget";
      readonly self: number;
      readonly job: string;
      readonly instance: string;
      readonly intervalMs: number;
    };

/** What the thread needs of the process. */
export type ProcessRequest =
  | { readonly kind: "publish"; readonly add: readonly SegmentInfo[] }
  | { readonly kind: "publishedSealSeq"; readonly lineage: string }
  | { readonly kind: "confirmLease" }
  | { readonly kind: "readSelf"; readonly self: number };

export type ToIngestThread = DeskMessage<IngestRequest, unknown> | { readonly kind: "close" };

export type LogLevel = "debug" | "info" | "warn" | "error";

export type FromIngestThread =
  | DeskMessage<ProcessRequest, unknown>
  | { readonly kind: "ready" }
  /** It is of no use any more. */
  | { readonly kind: "fatal"; readonly error: ErrorData }
  /** Samples are refused for want of room, and why; `undefined`: they are taken again. */
  | { readonly kind: "room"; readonly reason: string | undefined }
  | LogMessage;

export interface LogMessage {
  readonly kind: "log";
  readonly level: LogLevel;
  readonly fields: LogFields;
  readonly message: string;
}
