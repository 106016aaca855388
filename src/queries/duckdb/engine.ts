/**
 * DuckDB for this process, in a thread of its own. There is one instance a process: its memory limit and its threads
 * are the process's.
 *
 *   EN1  Nothing is computed on the caller's thread: it sends a request and receives an answer.
 *   EN2  An aborted request ends only when DuckDB has stopped, and leaves no file.
 *   EN3  A person's statement is one SELECT that reads no file and changes nothing (check-user-sql.ts); DuckDB itself may
 *        touch only `spoolDir` and its temporary directory, and installs and loads no extension.
 *   EN4  When the thread dies, every request fails, and `failure` resolves: the process should end and be restarted.
 *
 * DuckDB's asynchronous calls each occupy one of libuv's threads while a statement runs, and a process has only four of
 * them unless UV_THREADPOOL_SIZE says otherwise before it starts: with fewer than `uvThreadsNeeded`, long statements
 * would stall file access and name resolution of the whole process.
 *
 * What DuckDB does not promise: its memory limit covers its tables and operators, not one enormous value
 * (`repeat('x', 1e9)`), and a single such value cannot be interrupted while it is being made.
 */
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { type Clock, sleep } from "../../kernel/clock.ts";
import { messageOf, OperatingError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import { siblingModule } from "../../kernel/node/sibling-module.ts";
import type { ProducedFile } from "../core/index.ts";
import {
  type ColumnHeader,
  type EngineAnswer,
  type EngineRequest,
  type EngineThreadOptions,
  errorOfData,
  type FromEngine,
  type OpenedRows,
  type RowPage,
  type ToEngine,
} from "./engine-messages.ts";

export interface EngineOptions {
  readonly memoryLimitBytes: number;
  /** DuckDB's own threads, shared by all statements. */
  readonly threads: number;
  /** The only directory that DuckDB reads and writes. Made when it is absent. */
  readonly spoolDir: string;
  /** Statements at a time; of the others `queueMax` wait. */
  readonly connections: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly queueMax?: number;
  /** Where DuckDB spills what exceeds its memory. */
  readonly tempDir?: string;
  readonly tempBytesMax?: number;
}

/** Rows of an artifact as NDJSON: a JSON array a line, every line ended, whole lines in every chunk. */
export interface RowStream extends AsyncIterable<Uint8Array> {
  readonly columns: readonly ColumnHeader[];
  /** All rows are in the first chunk. */
  readonly isWhole: boolean;
}

export interface Engine {
  /**
   * Runs one SELECT into a Parquet file of at most `bytesMax` bytes. Throws `bad_sql`, `query_too_large`, `disk_full`,
   * `overloaded`, or `cancelled` when `signal` aborts; then there is no file.
   */
  executeToParquet(
    sql: string,
    path: string,
    signal: AbortSignal,
    bytesMax?: number,
  ): Promise<ProducedFile>;
  /** Resolves when columns and first rows are known; reads on as it is pulled. One consumer. */
  openRows(path: string, signal: AbortSignal): Promise<RowStream>;
  /** The rows of `openRows` alone. */
  readRows(path: string, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** `sha256:` and hexadecimal digits. */
  checksum(path: string): Promise<string>;
  /** Resolves if the engine breaks; never when it is closed. */
  readonly failure: Promise<OperatingError>;
  /** Interrupts what runs. Bounded: after `closeMsMax` the thread is left behind. */
  close(): Promise<void>;
}

const queueMaxDefault = 256;
const tempBytesMaxDefault = 10 * 1024 ** 3;
const closeMsMax = 5_000;

/** The least that UV_THREADPOOL_SIZE should be: a thread for every statement, and the usual four. */
export function uvThreadsNeeded(connections: number): number {
  return connections + 4;
}

export async function startEngine(options: EngineOptions): Promise<Engine> {
  warnOfFewThreads(options);
  const { memoryLimitBytes, threads, spoolDir, connections } = options;
  const workerData: EngineThreadOptions = {
    memoryLimitBytes,
    threads,
    spoolDir,
    connections,
    tempDir: options.tempDir ?? join(spoolDir, "temp"),
    tempBytesMax: options.tempBytesMax ?? tempBytesMaxDefault,
    queueMax: options.queueMax ?? queueMaxDefault,
  };
  const thread = new Worker(siblingModule(import.meta.url, "./engine-thread"), { workerData });
  const engine = new ThreadEngine(thread, options.clock, options.logger);
  await engine.ready;
  return engine;
}

function warnOfFewThreads({ connections, logger }: EngineOptions): void {
  const needed = uvThreadsNeeded(connections);
  const given = Number(process.env.UV_THREADPOOL_SIZE ?? 4);
  if (given >= needed) return;
  const fields = { uv_threads: given, uv_threads_needed: needed };
  logger.warn(
    fields,
    "UV_THREADPOOL_SIZE is small: long statements may stall this process's files",
  );
}

interface Waiting {
  resolve(answer: EngineAnswer): void;
  reject(error: OperatingError): void;
}

class ThreadEngine implements Engine {
  readonly ready: Promise<void>;
  readonly failure: Promise<OperatingError>;
  readonly #thread: Worker;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #waiting = new Map<number, Waiting>();
  readonly #exited: Promise<void>;
  #idNext = 1;
  /** Why nothing is taken any more. */
  #over: OperatingError | undefined;

  constructor(thread: Worker, clock: Clock, logger: Logger) {
    this.#thread = thread;
    this.#clock = clock;
    this.#logger = logger;
    const ready = Promise.withResolvers<void>();
    const failure = Promise.withResolvers<OperatingError>();
    const exited = Promise.withResolvers<void>();
    this.ready = ready.promise;
    this.failure = failure.promise;
    this.#exited = exited.promise;
    const fail = (message: string): void => {
      if (this.#over !== undefined) return;
      const error = new OperatingError("query_failed", "backoff", `the engine broke: ${message}`);
      this.#logger.error({}, error.message);
      this.#end(error);
      ready.reject(error);
      failure.resolve(error);
    };
    thread.on("message", (message: FromEngine) => {
      if (message.kind === "ready") ready.resolve();
      else if (message.kind === "fatal") fail(message.message);
      else this.#settle(message);
    });
    thread.on("error", (thrown) => fail(messageOf(thrown)));
    thread.on("exit", (code) => {
      fail(`its thread ended with code ${code}`);
      exited.resolve();
    });
  }

  async executeToParquet(
    sql: string,
    path: string,
    signal: AbortSignal,
    bytesMax = Number.MAX_SAFE_INTEGER,
  ): Promise<ProducedFile> {
    const answer = await this.#ask({ kind: "execute", sql, path, bytesMax }, signal);
    return answer as ProducedFile;
  }

  async openRows(path: string, signal: AbortSignal): Promise<RowStream> {
    const opened = (await this.#ask({ kind: "openRows", path }, signal)) as OpenedRows;
    return {
      columns: opened.columns,
      isWhole: opened.first.last,
      [Symbol.asyncIterator]: () => this.#pages(opened, signal),
    };
  }

  async *readRows(path: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    yield* await this.openRows(path, signal);
  }

  async checksum(path: string): Promise<string> {
    return (await this.#ask({ kind: "checksum", path })) as string;
  }

  async close(): Promise<void> {
    if (this.#over === undefined) {
      this.#end(new OperatingError("shutting_down", "backoff", "the engine is closed"));
      this.#send({ kind: "close" });
    }
    const patience = new AbortController();
    await Promise.race([this.#exited, sleep(this.#clock, closeMsMax, patience.signal)]);
    patience.abort();
    await this.#thread.terminate();
  }

  /** The next page is made while the caller is busy with this one. */
  async *#pages({ reader, first }: OpenedRows, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const left = new AbortController();
    const stop = AbortSignal.any([signal, left.signal]);
    let page = first;
    try {
      for (;;) {
        const next = page.last ? undefined : this.#ask({ kind: "nextPage", reader }, stop);
        next?.catch(() => undefined); // It is awaited below, unless the caller leaves.
        if (page.bytes.length > 0) yield page.bytes;
        if (next === undefined) return;
        page = (await next) as RowPage;
      }
    } finally {
      left.abort();
      this.#send({ kind: "closeReader", reader });
    }
  }

  #ask(request: EngineRequest, signal?: AbortSignal): Promise<EngineAnswer> {
    if (this.#over !== undefined) return Promise.reject(this.#over);
    if (signal?.aborted === true) {
      return Promise.reject(
        new OperatingError("cancelled", "never", "the statement was cancelled"),
      );
    }
    const id = this.#idNext;
    this.#idNext += 1;
    return new Promise((resolve, reject) => {
      const onAbort = (): void => this.#send({ kind: "abort", id });
      const forget = (): void => signal?.removeEventListener("abort", onAbort);
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#waiting.set(id, {
        resolve: (answer) => {
          forget();
          resolve(answer);
        },
        reject: (error) => {
          forget();
          reject(error);
        },
      });
      this.#send({ kind: "request", id, request });
    });
  }

  #settle(message: Extract<FromEngine, { kind: "answer" | "error" }>): void {
    const waiting = this.#waiting.get(message.id);
    if (waiting === undefined) return; // It was told already that the engine is closing.
    this.#waiting.delete(message.id);
    if (message.kind === "answer") waiting.resolve(message.answer);
    else waiting.reject(errorOfData(message.error));
  }

  #end(error: OperatingError): void {
    this.#over = error;
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
  }

  #send(message: ToEngine): void {
    this.#thread.postMessage(message);
  }
}
