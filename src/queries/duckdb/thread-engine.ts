/** The process's end of the engine's thread: requests out, answers in. */
import type { Worker } from "node:worker_threads";
import { type Clock, sleep } from "../../kernel/clock.ts";
import { messageOf, OperatingError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import { ExecutorBroken, type ProducedFile } from "../core/index.ts";
import type { Engine, EngineSession, RowStream } from "./engine.ts";
import {
  type EngineAnswer,
  type EngineRequest,
  errorOfData,
  type FromEngine,
  type OpenedRows,
  type Relation,
  type RowPage,
  type ToEngine,
} from "./engine-messages.ts";
import type { SessionRows } from "./lane-sessions.ts";

const closeMsMax = 5_000;

interface Waiting {
  resolve(answer: EngineAnswer): void;
  reject(error: OperatingError): void;
}

export class ThreadEngine implements Engine {
  readonly ready: Promise<void>;
  readonly failure: Promise<OperatingError>;
  readonly #thread: Worker;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #waiting = new Map<number, Waiting>();
  readonly #exited: Promise<void>;
  #idNext = 1;
  #stuck: boolean = false;
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
      const error = new ExecutorBroken(`the engine broke: ${message}`);
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
    relations: readonly Relation[] = [],
  ): Promise<ProducedFile> {
    const answer = await this.#ask({ kind: "execute", sql, path, bytesMax, relations }, signal);
    return answer as ProducedFile;
  }

  async parse(sql: string, signal: AbortSignal): Promise<string> {
    return (await this.#ask({ kind: "parse", sql }, signal)) as string;
  }

  async openSession(relations: readonly Relation[], signal: AbortSignal): Promise<EngineSession> {
    const opened = await this.#ask({ kind: "openSession", relations }, signal);
    const { session } = opened as { readonly session: number };
    const run = async (sql: string, stop: AbortSignal): Promise<SessionRows> =>
      (await this.#ask({ kind: "runInSession", session, sql }, stop)) as SessionRows;
    return {
      run: async (sql, stop) => (await run(sql, stop)).rows,
      objects: async (sql, stop) => {
        const { columns, rows } = await run(sql, stop);
        return rows.map((row) =>
          Object.fromEntries(columns.map((name, index) => [name, row[index]])),
        );
      },
      close: async () => {
        // When the engine is closed, so are its sessions.
        if (this.#over === undefined) await this.#ask({ kind: "closeSession", session });
      },
    };
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
    const exited = this.#exited.then(() => false);
    const waited = sleep(this.#clock, closeMsMax, patience.signal).then(() => true);
    this.#stuck = await Promise.race([exited, waited]);
    patience.abort();
    if (!this.#stuck) return;
    this.#logger.error({}, "the engine is closed, but DuckDB is still computing");
    this.#thread.unref(); // Terminating it within one of DuckDB's calls would abort the whole process.
  }

  get stuck(): boolean {
    return this.#stuck;
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
