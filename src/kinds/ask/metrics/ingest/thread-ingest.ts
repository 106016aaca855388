/** The process's end of the ingest thread: sends requests, and answers what the thread asks. */
import "../core/error-codes.ts";
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { assert, messageOf, OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Logger } from "../../../../ground/kernel/logger.ts";
import { type Peer, startThread } from "../../../../ground/threads/index.ts";
import type { Matcher } from "../../promql/core/index.ts";
import { BatchBuilder } from "../core/ingest/batch-builder.ts";
import { parseWriteProtocol, refusedWrite } from "../core/ingest/wire/write-protocol.ts";
import type {
  HeadStats,
  ImportOptions,
  ImportProgress,
  ImportResult,
  Ingest,
  RemoteWriteResult,
  SelfTargetOptions,
  TargetStatus,
} from "../core/ingest-service.ts";
import type {
  AppendOutcome,
  Exemplar,
  HeadSnapshot,
  MetricMetadata,
  SampleBatch,
  SegmentInfo,
} from "../core/model.ts";
import type { LogLease } from "../fs/take-log.ts";
import { batchToMessage, exemplarOfMessage } from "./batch-message.ts";
import { fileError } from "./file-error.ts";
import type { DoneImport } from "./import-messages.ts";
import type { IngestOwner, IngestThread } from "./ingest-messages.ts";
import { ownBytes } from "./own-bytes.ts";
import { runImport } from "./run-import.ts";

export interface ThreadIngestOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  publish(add: readonly SegmentInfo[], remove: readonly string[]): Promise<void>;
  publishedSealSeq(lineage: string): Promise<number>;
  readonly lease: LogLease;
  /** Gets why samples are refused for want of space; undefined when they are accepted again. */
  readonly onRoom?: (reason: string | undefined) => void;
  /** Options of one import, with a new id. */
  importOptions(): Omit<Parameters<typeof runImport>[0], "format" | "onError">;
  /** How many writes may wait for the thread; further ones are refused with 429. */
  readonly queueMax: number;
  readonly queueBytesMax: number;
  readonly importsMax: number;
}

const closeMsMax = 20_000;

export class ThreadIngest implements Ingest {
  readonly ready: Promise<void>;
  readonly failure: Promise<OperatingError>;
  readonly #thread: Peer<IngestThread, IngestOwner>;
  readonly #options: ThreadIngestOptions;
  readonly #selfTargets: SelfTargetOptions[] = [];
  readonly #imports = new Set<AbortController>();
  #queued = 0;
  #queuedBytes = 0;

  /** `module` is the code that runs in the thread. */
  constructor(module: URL, threadOptions: unknown, options: ThreadIngestOptions) {
    this.#options = options;
    this.#thread = startThread<IngestThread, IngestOwner>({
      module,
      options: threadOptions,
      clock: options.clock,
      lost: brokenBy,
      whenBroken: "leave", // The thread ends its scrapes and its server when it is closed.
      errors: { translate: fileError },
      handlers: {
        requests: {
          publish: (add) => options.publish(add, []),
          publishedSealSeq: (lineage) => options.publishedSealSeq(lineage),
          confirmLease: () => options.lease.confirm(),
          readSelf: (number) => {
            const self = this.#selfTargets[number];
            assert(self !== undefined, "a target is read after it was added");
            return self.read();
          },
        },
        notes: {
          room: (reason) => options.onRoom?.(reason),
          log: ({ level, fields, message }) => options.logger[level](fields, message),
        },
      },
    });
    this.ready = this.#thread.ready;
    this.failure = this.#thread.failure;
    void this.failure.then(({ code, message }) => options.logger.error({ code }, message));
  }

  async remoteWrite(
    body: Uint8Array,
    contentType: string,
    contentEncoding: string,
  ): Promise<RemoteWriteResult> {
    const protocol = parseWriteProtocol(contentType, contentEncoding);
    if (typeof protocol !== "string") return protocol;
    const { queueMax, queueBytesMax } = this.#options;
    const isFull = this.#queued >= queueMax || this.#queuedBytes + body.length > queueBytesMax;
    if (isFull && this.#queued > 0) return refusedWrite(429, "too many writes are waiting");
    const bytes = ownBytes(body);
    const { length } = bytes; // Read before the transfer, which empties the buffer.
    this.#queued += 1;
    this.#queuedBytes += length;
    try {
      const transfer = [bytes.buffer];
      return await this.#thread.ask("remoteWrite", { body: bytes, protocol }, { transfer });
    } catch (thrown) {
      if (!(thrown instanceof OperatingError)) throw thrown;
      return refusedWrite(thrown.retry === "backoff" || isOver(thrown) ? 503 : 500, thrown.message);
    } finally {
      this.#queued -= 1;
      this.#queuedBytes -= length;
    }
  }

  async append(batch: SampleBatch): Promise<AppendOutcome> {
    const { message, transfer } = batchToMessage(batch);
    return await this.#thread.ask("append", message, { transfer });
  }

  async snapshot(): Promise<HeadSnapshot> {
    return await this.#thread.ask("snapshot", undefined);
  }

  async seal(): Promise<void> {
    await this.#thread.ask("seal", undefined);
  }

  async metadata(metric: string | undefined): Promise<readonly MetricMetadata[]> {
    return await this.#thread.ask("metadata", metric);
  }

  async exemplars(
    matcherSets: readonly (readonly Matcher[])[],
    startMs: number,
    endMs: number,
  ): Promise<readonly Exemplar[]> {
    const found = await this.#thread.ask("exemplars", { matcherSets, startMs, endMs });
    return found.map(exemplarOfMessage);
  }

  async targets(): Promise<readonly TargetStatus[]> {
    return await this.#thread.ask("targets", undefined);
  }

  async stats(): Promise<HeadStats> {
    return await this.#thread.ask("stats", undefined);
  }

  async applyScrapeConfig(text: string, baseDir: string): Promise<readonly string[]> {
    return await this.#thread.ask("applyScrapeConfig", { text, baseDir });
  }

  async addSelfTarget(self: SelfTargetOptions): Promise<void> {
    const number = this.#selfTargets.push(self) - 1;
    const { job, instance, intervalMs } = self;
    await this.#thread.ask("addSelfTarget", { self: number, job, instance, intervalMs });
  }

  async import(
    chunks: AsyncIterable<Uint8Array>,
    options: ImportOptions,
    onProgress: (progress: ImportProgress) => void,
    signal: AbortSignal,
  ): Promise<ImportResult> {
    if (this.#thread.over !== undefined) throw this.#thread.over;
    if (this.#imports.size >= this.#options.importsMax) {
      const message = `${this.#imports.size} imports are under way`;
      throw new OperatingError("overloaded", "backoff", message);
    }
    const closing = new AbortController();
    this.#imports.add(closing);
    try {
      const { format, onError } = options;
      const threadOptions = { ...this.#options.importOptions(), format, onError };
      const either = AbortSignal.any([signal, closing.signal]);
      const done = await runImport(threadOptions, chunks, onProgress, either, this.#options.clock);
      if (done.segments.length > 0) await this.#options.publish(done.segments, []);
      await this.#keepRest(done);
      return done.result;
    } finally {
      this.#imports.delete(closing);
    }
  }

  async close(): Promise<void> {
    for (const running of this.#imports) running.abort();
    const reason = new OperatingError("shutting_down", "backoff", "ingest is closed");
    const how = await this.#thread.stop({ graceMs: closeMsMax, reason, pending: "finish" });
    if (how === "killed") {
      this.#options.logger.error({}, "the ingest thread does not end by itself");
    }
  }

  /** Gives the import's metadata and exemplars to the head. A failure does not fail the import. */
  async #keepRest({ metadata, exemplars }: DoneImport): Promise<void> {
    const builder = new BatchBuilder(1);
    builder.metadata.push(...metadata);
    builder.exemplars.push(...exemplars.map(exemplarOfMessage));
    try {
      await this.append(builder.build());
    } catch (thrown) {
      this.#options.logger.warn({}, `an import's metadata is lost: ${messageOf(thrown)}`);
    }
  }
}

/** Keeps code, retry and hint of the cause. A thread that died by our own bug may be restarted. */
function brokenBy(cause: unknown): OperatingError {
  const message = `ingest broke: ${messageOf(cause)}`;
  if (!(cause instanceof OperatingError)) {
    return new OperatingError("store_unavailable", "backoff", message, { cause });
  }
  const { code, retry, hint } = cause;
  return new OperatingError(code, retry, message, { cause, ...(hint && { hint }) });
}

/** Another process takes samples in, or will. */
function isOver({ code }: OperatingError): boolean {
  return code === "shutting_down" || code === "lease_lost";
}
