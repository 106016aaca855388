/** The process's end of the ingest thread: requests out, answers in, and what the thread needs of the process. */
import type { Worker } from "node:worker_threads";
import { type Clock, sleep } from "../../kernel/clock.ts";
import { decodeError } from "../../kernel/error-codec.ts";
import { messageOf, OperatingError, unreachable } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
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
import { batchToMessage, type ExemplarMessage, exemplarOfMessage } from "./batch-message.ts";
import type {
  FromIngestThread,
  IngestRequest,
  ProcessRequest,
  ToIngestThread,
} from "./ingest-messages.ts";
import { ownBytes } from "./own-bytes.ts";
import { type DoneImport, runImport } from "./run-import.ts";
import { ThreadDesk } from "./thread-desk.ts";

export interface ThreadIngestOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  publish(add: readonly SegmentInfo[], remove: readonly string[]): Promise<void>;
  publishedSealSeq(lineage: string): Promise<number>;
  readonly lease: LogLease;
  /** Samples are refused for want of room, and why; `undefined`: they are taken again. */
  readonly onRoom?: (reason: string | undefined) => void;
  /** What an import needs; each gets a name of its own. */
  importOptions(): Omit<Parameters<typeof runImport>[0], "format" | "onError">;
  /** Writes that wait for the thread: beyond that senders are told to come back. */
  readonly queueMax: number;
  readonly queueBytesMax: number;
  readonly importsMax: number;
}

const closeMsMax = 20_000;

export class ThreadIngest implements Ingest {
  readonly ready: Promise<void>;
  readonly failure: Promise<OperatingError>;
  readonly #thread: Worker;
  readonly #options: ThreadIngestOptions;
  readonly #desk: ThreadDesk<IngestRequest, ProcessRequest>;
  readonly #selfTargets: SelfTargetOptions[] = [];
  readonly #imports = new Set<AbortController>();
  readonly #exited: Promise<void>;
  #queued = 0;
  #queuedBytes = 0;
  #isClosing = false;

  constructor(thread: Worker, options: ThreadIngestOptions) {
    this.#thread = thread;
    this.#options = options;
    this.#desk = new ThreadDesk({
      post: (message, transfer) => thread.postMessage(message, [...transfer]),
      perform: (request) => this.#perform(request),
    });
    const ready = Promise.withResolvers<void>();
    const failure = Promise.withResolvers<OperatingError>();
    const exited = Promise.withResolvers<void>();
    this.ready = ready.promise;
    this.failure = failure.promise;
    this.#exited = exited.promise;
    const fail = (error: OperatingError): void => {
      if (this.#isClosing || this.#desk.over !== undefined) return;
      options.logger.error({ code: error.code }, error.message);
      this.#desk.end(error);
      ready.reject(error);
      failure.resolve(error);
    };
    thread.on("message", (message: FromIngestThread) => {
      if (message.kind === "ready") ready.resolve();
      else if (message.kind === "fatal") fail(brokenBy(decodeError(message.error)));
      else if (message.kind === "room") options.onRoom?.(message.reason);
      else if (message.kind === "log")
        options.logger[message.level](message.fields, message.message);
      else this.#desk.receive(message);
    });
    thread.on("error", (thrown) => fail(brokenBy(thrown)));
    thread.on("exit", (code) => {
      fail(brokenBy(new Error(`its thread ended with code ${code}`)));
      exited.resolve();
    });
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
    const { length } = bytes; // It is gone once it is handed over.
    this.#queued += 1;
    this.#queuedBytes += length;
    try {
      const request: IngestRequest = { kind: "remoteWrite", body: bytes, protocol };
      return await this.#desk.ask<RemoteWriteResult>(request, [bytes.buffer]);
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
    return await this.#desk.ask<AppendOutcome>({ kind: "append", batch: message }, transfer);
  }

  async snapshot(): Promise<HeadSnapshot> {
    return await this.#desk.ask<HeadSnapshot>({ kind: "snapshot" });
  }

  async seal(): Promise<void> {
    await this.#desk.ask<void>({ kind: "seal" });
  }

  async metadata(metric: string | undefined): Promise<readonly MetricMetadata[]> {
    return await this.#desk.ask<readonly MetricMetadata[]>({ kind: "metadata", metric });
  }

  async exemplars(
    matcherSets: readonly (readonly Matcher[])[],
    startMs: number,
    endMs: number,
  ): Promise<readonly Exemplar[]> {
    const request: IngestRequest = { kind: "exemplars", matcherSets, startMs, endMs };
    const found = await this.#desk.ask<readonly ExemplarMessage[]>(request);
    return found.map(exemplarOfMessage);
  }

  async targets(): Promise<readonly TargetStatus[]> {
    return await this.#desk.ask<readonly TargetStatus[]>({ kind: "targets" });
  }

  async stats(): Promise<HeadStats> {
    return await this.#desk.ask<HeadStats>({ kind: "stats" });
  }

  async applyScrapeConfig(text: string, baseDir: string): Promise<readonly string[]> {
    const request: IngestRequest = { kind: "applyScrapeConfig", text, baseDir };
    return await this.#desk.ask<readonly string[]>(request);
  }

  async addSelfTarget(self: SelfTargetOptions): Promise<void> {
    const number = this.#selfTargets.push(self) - 1;
    const { job, instance, intervalMs } = self;
    await this.#desk.ask<void>({ kind: "addSelfTarget", self: number, job, instance, intervalMs });
  }

  async import(
    chunks: AsyncIterable<Uint8Array>,
    options: ImportOptions,
    onProgress: (progress: ImportProgress) => void,
    signal: AbortSignal,
  ): Promise<ImportResult> {
    if (this.#desk.over !== undefined) throw this.#desk.over;
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
      const done = await runImport(threadOptions, chunks, onProgress, either);
      if (done.segments.length > 0) await this.#options.publish(done.segments, []);
      await this.#keepRest(done);
      return done.result;
    } finally {
      this.#imports.delete(closing);
    }
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    for (const running of this.#imports) running.abort();
    const message: ToIngestThread = { kind: "close" };
    // Also to one whose log is lost: it ends its scrapes and its server.
    this.#thread.postMessage(message);
    const patience = new AbortController();
    const waited = sleep(this.#options.clock, closeMsMax, patience.signal).then(() => true);
    const isStuck = await Promise.race([this.#exited.then(() => false), waited]);
    patience.abort();
    this.#desk.end(new OperatingError("shutting_down", "backoff", "ingest is closed"));
    if (!isStuck) return;
    this.#options.logger.error({}, "the ingest thread does not end by itself");
    await this.#thread.terminate();
  }

  /** Metadata and exemplars of an import are the head's. Samples are what counts: without these it is still done. */
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

  async #perform(request: ProcessRequest): Promise<unknown> {
    switch (request.kind) {
      case "publish":
        return await this.#options.publish(request.add, []);
      case "publishedSealSeq":
        return await this.#options.publishedSealSeq(request.lineage);
      case "confirmLease":
        return await this.#options.lease.confirm();
      case "readSelf":
        return await this.#selfTargets[request.self]?.read();
      default:
        return unreachable(request);
    }
  }
}

/**
 * Code, retry and hint are those of what broke it; a thread that died by our own fault may be
 * started again.
 */
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
