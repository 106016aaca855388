/**
 * One process of the engine, seen from the process that started it: requests out, answers in, and
 * who was in it when it went.
 *
 *   EC1  Every request is answered, or fails with `ProcessLost` when the process is gone.
 *   EC2  A request that was aborted and is not over after `cancelMsMax` costs the process.
 *   EC3  A job is one thing that somebody asked for, of one request or several. It *shared* the
 *        process when another job ran in it at the same time or before it: then what became of the
 *        process, or of its memory, may be another's doing.
 */
import { rm } from "node:fs/promises";
import { type Clock, sleep } from "../../ground/kernel/clock.ts";
import { decodeError } from "../../ground/kernel/error-codec.ts";
import { messageOf, OperatingError } from "../../ground/kernel/errors.ts";
import type { LogFields } from "../../ground/kernel/logger.ts";
import type { FromChild, ToChild } from "../../ground/kernel/node/child-messages.ts";
import type { EngineAnswer, EngineRequest, InstanceOptions } from "./engine-messages.ts";
import { cancelled } from "./statement-pool.ts";

/** Why a process of the engine is gone. */
export interface Loss {
  /**
   * `memory`: more than it may have; `cancel`: it did not stop; `crash`: by itself; `overdue`: it had
   * its turn, and gave way to others; `closed`: as it was asked to.
   */
  readonly kind: "memory" | "cancel" | "crash" | "overdue" | "closed";
  readonly message: string;
}

/**
 * The process is gone, and with it whatever was asked of it. Never told to a user of the engine.
 */
export class ProcessLost extends OperatingError {
  readonly loss: Loss;

  constructor(loss: Loss) {
    super("query_failed", "backoff", `the engine's process is gone: ${loss.message}`);
    this.loss = loss;
  }
}

export interface Job {
  /** Whose it is, for log lines. */
  readonly fields: LogFields;
  /** It had a connection. */
  begun: boolean;
  /** EC3 */
  shared: boolean;
}

interface Waiting<Answer> {
  readonly job: Job;
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

/** What of a `ChildProcess` is used here. */
export interface EngineProcess<Open = InstanceOptions, Request = EngineRequest> {
  readonly pid?: number | undefined;
  readonly connected: boolean;
  send(message: ToChild<Open, Request>, callback: (error: Error | null) => void): boolean;
  kill(signal: "SIGKILL"): boolean;
  on(event: "message", listener: (message: unknown) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "exit", listener: (code: number | null, signal: string | null) => void): unknown;
}

export const cancelMsMax = 2_000;
/** An orderly end takes some milliseconds; it is not worth a longer wait. */
const closeMsMax = 1_000;

/** `Open`, `Request`, `Answer`: what its process understands, which is DuckDB for workers' SQL unless given. */
export class EngineChild<Open = InstanceOptions, Request = EngineRequest, Answer = EngineAnswer> {
  /** Rejects when it does not come up. */
  readonly ready: Promise<void>;
  readonly exited: Promise<void>;
  /** Its temporary directory is gone too. */
  readonly removed: Promise<void>;
  readonly #process: EngineProcess<Open, Request>;
  readonly #clock: Clock;
  readonly #tempDir: string | undefined;
  readonly #waiting = new Map<number, Waiting<Answer>>();
  readonly #jobs = new Set<Job>();
  #jobsBefore = 0;
  #idNext = 1;
  /** Why it is being killed, or has gone. */
  #loss: Loss | undefined;
  #gone: boolean = false;
  #begunAtLoss: readonly Job[] = [];

  /** `tempDir` is removed when it has ended. */
  constructor(
    process: EngineProcess<Open, Request>,
    options: Open,
    clock: Clock,
    tempDir: string | undefined,
  ) {
    this.#process = process;
    this.#clock = clock;
    this.#tempDir = tempDir;
    const ready = Promise.withResolvers<void>();
    const exited = Promise.withResolvers<void>();
    this.ready = ready.promise;
    this.exited = exited.promise;
    this.removed = this.exited.then(() => removeDir(this.#tempDir));
    this.ready.catch(() => undefined); // Whoever waits for it is told.
    const onGone = (how: string): void => {
      if (this.#gone) return;
      this.#gone = true;
      this.#loss ??= { kind: "crash", message: how };
      this.#begunAtLoss = [...this.#jobs].filter(({ begun }) => begun);
      ready.reject(new ProcessLost(this.#loss));
      this.#lose(this.#loss);
      exited.resolve();
    };
    process.on("message", (message) => {
      const told = message as FromChild<Answer>;
      if (told.kind === "ready") ready.resolve();
      else if (told.kind === "fatal") this.kill({ kind: "crash", message: told.message });
      else if (told.kind === "began") this.#began(told.id);
      else this.#settle(told);
    });
    process.on("error", (error) => onGone(messageOf(error)));
    process.on("exit", (code, signal) => onGone(signal ?? `exit code ${code}`));
    this.#send({ kind: "open", options });
  }

  get pid(): number | undefined {
    return this.#gone ? undefined : this.#process.pid;
  }

  /** Nothing runs in it, or waits. */
  get idle(): boolean {
    return this.#jobs.size === 0;
  }

  /** It takes nothing any more. */
  get lost(): boolean {
    return this.#loss !== undefined;
  }

  get loss(): Loss | undefined {
    return this.#loss;
  }

  /** What ran in it when it went. */
  get begunAtLoss(): readonly Job[] {
    return this.#begunAtLoss;
  }

  /** `use` asks on behalf of the job; see EC3. */
  async withJob<T>(
    fields: LogFields,
    use: (job: Job) => Promise<T>,
  ): Promise<{ job: Job; result: Promise<T> }> {
    const job: Job = { fields, begun: false, shared: false };
    this.#jobs.add(job);
    const result = use(job);
    await result.then(
      () => undefined,
      () => undefined,
    );
    this.#jobs.delete(job);
    if (job.begun) this.#jobsBefore += 1;
    return { job, result };
  }

  ask(job: Job, request: Request, signal?: AbortSignal): Promise<Answer> {
    if (this.#loss !== undefined) return Promise.reject(new ProcessLost(this.#loss));
    if (signal?.aborted === true) return Promise.reject(cancelled());
    const id = this.#idNext;
    this.#idNext += 1;
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#send({ kind: "abort", id });
        this.#clock.after(cancelMsMax, () => {
          if (!this.#waiting.has(id)) return;
          const message = `a statement ignored its cancellation for ${cancelMsMax} ms`;
          this.kill({ kind: "cancel", message }); // EC2
        });
      };
      const forget = (): void => signal?.removeEventListener("abort", onAbort);
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#waiting.set(id, {
        job,
        resolve: (answer) => {
          forget();
          resolve(answer);
        },
        reject: (error) => {
          forget();
          reject(signal?.aborted === true ? cancelled() : error);
        },
      });
      this.#send({ kind: "request", id, request });
    });
  }

  /** At once. Its requests fail when it is gone. */
  kill(loss: Loss): void {
    if (this.#gone) return;
    this.#loss ??= loss;
    this.#process.kill("SIGKILL");
  }

  /** Interrupts what runs; what does not stop soon is killed. Resolves when it is gone. */
  async end(): Promise<void> {
    if (!this.#gone && this.#loss === undefined) {
      this.#loss = { kind: "closed", message: "it was closed" };
      this.#lose(this.#loss);
      this.#send({ kind: "close" });
    }
    const patience = new AbortController();
    const tooLong = sleep(this.#clock, closeMsMax, patience.signal);
    await Promise.race([this.exited, tooLong]);
    patience.abort();
    if (!this.#gone) this.#process.kill("SIGKILL");
    await this.exited;
  }

  /** EC3 */
  #began(id: number): void {
    const job = this.#waiting.get(id)?.job;
    if (job === undefined || job.begun) return;
    job.begun = true;
    if (this.#jobsBefore > 0) job.shared = true;
    for (const other of this.#jobs) {
      if (other === job || !other.begun) continue;
      other.shared = true;
      job.shared = true;
    }
  }

  #settle(message: Extract<FromChild<Answer>, { kind: "answer" | "error" }>): void {
    const waiting = this.#waiting.get(message.id);
    if (waiting === undefined) return; // It was told already that the process is gone.
    this.#waiting.delete(message.id);
    if (message.kind === "answer") waiting.resolve(message.answer);
    else waiting.reject(decodeError(message.error));
  }

  /**
   * EC1. The newest first: what goes wrong does so soon, and what ran for long was most likely
   * innocent.
   */
  #lose(loss: Loss): void {
    const waiting = [...this.#waiting.values()].reverse();
    this.#waiting.clear();
    for (const each of waiting) each.reject(new ProcessLost(loss));
  }

  #send(message: ToChild<Open, Request>): void {
    if (!this.#process.connected) return; // It is going; `exit` follows.
    this.#process.send(message, () => undefined);
  }
}

/** It may be that nothing was made in it; what cannot be removed now is at the next start. */
async function removeDir(path: string | undefined): Promise<void> {
  if (path === undefined) return;
  await rm(path, { recursive: true, force: true }).catch(() => undefined);
}
