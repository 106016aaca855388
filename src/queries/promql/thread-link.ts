/**
 * One PromQL thread, seen from the process's main thread.
 *
 *   TL1  Of an abort the thread is told in two ways: by a word in shared memory, which it sees while it computes, and by a message,
 *        which it sees while it waits. The caller is rejected at once, or when the thread has stopped, as it asked for.
 *   TL2  When the thread dies, every request fails, and `failure` resolves; never when it is closed.
 *   TL3  After `close` or `kill` the thread is gone. It has no native code to be within, so it may be terminated.
 *   TL4  A thread's young generation is small. V8 would let it grow to 32 MiB and more, and collects the buffers outside of the
 *        heap no sooner than it is full; none of our queries is faster for it.
 */
import { type ResourceLimits, Worker } from "node:worker_threads";
import { type Clock, sleep } from "../../kernel/clock.ts";
import { messageOf, OperatingError } from "../../kernel/errors.ts";
import { ExecutorBroken } from "../core/index.ts";
import { errorOfData, type FromThread, type ToThread } from "./thread-messages.ts";

const closeMsMax = 2_000;
/** Three semi-spaces of 4 MiB. */
const youngMegabytesMax = 12;

interface Waiting<Answer> {
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

export interface ThreadLinkOptions<Note> {
  readonly module: URL;
  readonly workerData: unknown;
  readonly clock: Clock;
  readonly onNote?: (note: Note) => void;
  /** Of the thread's JavaScript heap. Columns are outside of it. */
  readonly heapBytesMax?: number;
}

export class ThreadLink<Request, Answer, Post = never, Note = never> {
  readonly ready: Promise<void>;
  readonly failure: Promise<OperatingError>;
  /** The thread is gone, however it ended. */
  readonly exited: Promise<void>;
  readonly #thread: Worker;
  readonly #clock: Clock;
  readonly #waiting = new Map<number, Waiting<Answer>>();
  #idNext = 1;
  /** Why nothing is taken any more. */
  #over: OperatingError | undefined;

  constructor({ module, workerData, clock, onNote, heapBytesMax }: ThreadLinkOptions<Note>) {
    this.#clock = clock;
    const resourceLimits: ResourceLimits = { maxYoungGenerationSizeMb: youngMegabytesMax }; // TL4
    if (heapBytesMax !== undefined) {
      resourceLimits.maxOldGenerationSizeMb = Math.ceil(heapBytesMax / 1024 ** 2);
    }
    this.#thread = new Worker(module, { workerData, resourceLimits });
    const ready = Promise.withResolvers<void>();
    const failure = Promise.withResolvers<OperatingError>();
    const exited = Promise.withResolvers<void>();
    this.ready = ready.promise;
    this.failure = failure.promise;
    this.exited = exited.promise;
    const fail = (message: string): void => {
      if (this.#over !== undefined) return;
      const error = new ExecutorBroken(`a thread broke: ${message}`);
      this.#end(error);
      ready.reject(error);
      failure.resolve(error);
    };
    this.#thread.on("message", (message: FromThread<Answer, Note>) => {
      if (message.kind === "ready") ready.resolve();
      else if (message.kind === "note") onNote?.(message.note);
      else this.#settle(message);
    });
    this.#thread.on("error", (thrown) => fail(messageOf(thrown)));
    this.#thread.on("exit", (code) => {
      fail(`it ended with code ${code}`);
      exited.resolve();
    });
  }

  get pendingCount(): number {
    return this.#waiting.size;
  }

  /** Rejects with what the thread threw, or with `cancelled` when `signal` aborts. TL1. */
  ask(
    request: Request,
    signal: AbortSignal | undefined,
    rejectAborted: "at once" | "when stopped" = "at once",
  ): Promise<Answer> {
    if (this.#over !== undefined) return Promise.reject(this.#over);
    if (signal?.aborted === true) return Promise.reject(cancelled());
    const id = this.#idNext;
    this.#idNext += 1;
    const stop = new SharedArrayBuffer(4);
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        Atomics.store(new Int32Array(stop), 0, 1);
        this.#send({ kind: "abort", id });
        if (rejectAborted === "when stopped") return;
        this.#waiting.delete(id);
        reject(cancelled());
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      const forget = (): void => signal?.removeEventListener("abort", onAbort);
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
      this.#send({ kind: "request", id, request, stop });
    });
  }

  post(post: Post): void {
    if (this.#over === undefined) this.#send({ kind: "post", post });
  }

  /** TL3. */
  async close(): Promise<void> {
    if (this.#over === undefined) {
      this.#end(new OperatingError("shutting_down", "backoff", "the thread is closed"));
      this.#send({ kind: "close" });
    }
    const patience = new AbortController();
    await Promise.race([this.exited, sleep(this.#clock, closeMsMax, patience.signal)]);
    patience.abort();
    await this.#thread.terminate();
  }

  /** Ends it now; what waits for it fails with `error`. */
  async kill(error: OperatingError): Promise<void> {
    this.#end(error);
    await this.#thread.terminate();
  }

  #settle(message: Extract<FromThread<Answer, Note>, { kind: "answer" | "error" }>): void {
    const waiting = this.#waiting.get(message.id);
    if (waiting === undefined) return; // It was aborted, or told already that the thread is closing.
    this.#waiting.delete(message.id);
    if (message.kind === "answer") waiting.resolve(message.answer);
    else waiting.reject(errorOfData(message.error));
  }

  #end(error: OperatingError): void {
    this.#over ??= error;
    for (const waiting of [...this.#waiting.values()]) waiting.reject(error);
    this.#waiting.clear();
  }

  #send(message: ToThread<Request, Post>): void {
    this.#thread.postMessage(message);
  }
}

function cancelled(): OperatingError {
  return new OperatingError("cancelled", "never", "the query was cancelled");
}
