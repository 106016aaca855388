/**
 * Runs DuckDB in child processes. A lost process costs only the statement at fault; others in it
 * are run again (QU48, QE2 to QE6).
 *
 * One process, started on demand, is shared by all. When it is lost, or lacks memory for a job that
 * shared it, the jobs that had begun are tried alone, one after the other, in new processes; what
 * happens there is the job's own fault. Other jobs are run again, at most `againMax` times before
 * they are tried alone.
 *
 * A job alone has the turn for `turnMsMax`. Then it continues, overdue, and the next is tried
 * beside it. Overdue jobs are killed, the oldest first above `overdueMax` and the largest first
 * when memory is short, and fail with `overloaded`.
 */

import { join } from "node:path";
import { backoffMs } from "../../ground/kernel/backoff.ts";
import type { Clock, Timer } from "../../ground/kernel/clock.ts";
import { OperatingError } from "../../ground/kernel/errors.ts";
import type { HealthReporter } from "../../ground/kernel/health.ts";
import type { LogFields, Logger } from "../../ground/kernel/logger.ts";
import type { ProcessLink } from "../../ground/threads/index.ts";
import type { EngineObserver } from "./core/index.ts";
import { memoryHint } from "./duckdb-error.ts";
import { EngineChild, type Job, type Loss, ProcessLost } from "./engine-child.ts";
import type { InstanceOptions } from "./engine-messages.ts";
import { EngineWatch } from "./engine-watch.ts";
import { cancelled } from "./statement-pool.ts";
import { TurnQueue } from "./turn-queue.ts";

export interface EngineProcessesOptions {
  readonly instance: InstanceOptions;
  /** The memory of one engine process. */
  readonly engineBytesMax: number;
  /** The memory of this process with all its descendants. */
  readonly treeBytesMax: number;
  readonly idleMs: number;
  /** With `bounded`, the kernel limits its memory. */
  spawn(bounded: boolean): ProcessLink;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observer: EngineObserver;
  /** Reports when the process does not start, and when it does again. */
  readonly health?: HealthReporter;
}

export type Perform<T> = (child: EngineChild, job: Job) => Promise<T>;

/** A request to the engine that can run in any process, and again. */
export interface Order<T> {
  readonly perform: Perform<T>;
  readonly signal: AbortSignal | undefined;
  /** Whose order it is, for log lines. */
  readonly fields: LogFields;
  /** Deletes the order's files before it is run again or fails. Idempotent. */
  undo?(): void;
}

type Outcome<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "failed"; readonly error: unknown; readonly suspect: boolean }
  | { readonly kind: "lost"; readonly loss: Loss; readonly suspect: boolean };

const againMax = 2;
/** Statements that run longer are rare, and a user waits for two of them at most. */
const turnMsMax = 30_000;
const overdueMax = 2;
/** The pause between failed starts. */
const startPause = { minMs: 1_000, maxMs: 30_000 };
/** After this many failures the system is assumed to have no such limit. */
const boundedFailuresMax = 3;

export class EngineProcesses {
  readonly #options: EngineProcessesOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #watch: EngineWatch;
  readonly #turns: TurnQueue;
  readonly #living = new Set<EngineChild>();
  #shared: EngineChild | undefined;
  /** Processes of jobs alone: the last one has the turn, the others are overdue. */
  readonly #alone: EngineChild[] = [];
  #idleTimer: Timer | undefined;
  /** The number of orders that wait for the shared process to start. */
  #comingCount = 0;
  #readerNext = 1;
  #processNext = 1;
  #closed: boolean = false;
  /** The next attempt to start, while the last one has failed. */
  #startRetry: Timer | undefined;
  #startFailures = 0;
  /** Processes started within the kernel's limit and not known to have failed because of it. */
  readonly #bounded = new WeakSet<EngineChild>();
  /** Consecutive failed starts within the limit. */
  #boundedFailures = 0;
  /** Whether the next start is without the limit, because the last one failed. */
  #isUnboundedNext: boolean = false;

  constructor(options: EngineProcessesOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#turns = new TurnQueue(options.clock, turnMsMax);
    this.#watch = new EngineWatch(options, options.clock, () => ({
      shared: this.#shared,
      alone: this.#alone.at(-1),
      overdue: this.#alone.slice(0, -1),
    }));
  }

  async run<T>(order: Order<T>): Promise<T> {
    for (let again = 0; ; again += 1) {
      this.#refuse(order);
      const outcome = await this.#attemptShared(order);
      if (outcome.kind === "done") return outcome.value;
      if (outcome.kind === "failed" && !outcome.suspect) throw outcome.error;
      if (outcome.suspect || again >= againMax) return await this.#runAlone(order);
      this.#options.observer.statementRepeated();
    }
  }

  /** A number for a reader of pages, unique over all processes. */
  newReader(): number {
    const reader = this.#readerNext;
    this.#readerNext += 1;
    return reader;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#idleTimer?.cancel();
    this.#startRetry?.cancel();
    await Promise.all(Array.from(this.#living, (child) => child.end().then(() => child.removed)));
  }

  /** Tries the order alone, when its turn comes. */
  async #runAlone<T>(order: Order<T>): Promise<T> {
    return await this.#turns.run(order.signal, async () => {
      this.#refuse(order);
      this.#options.observer.statementRepeated();
      if (this.#isIdle()) await this.#endShared(); // Frees its memory.
      const child = this.#start();
      this.#alone.push(child);
      for (const overdue of this.#alone.slice(0, -1 - overdueMax)) overdue.kill(crowdedOut);
      try {
        await started(child, order.signal);
        const outcome = await this.#attempt(child, order);
        if (outcome.kind === "done") return outcome.value;
        if (outcome.kind === "failed") throw outcome.error;
        this.#refuse(order);
        throw this.#faultOf(outcome.loss);
      } finally {
        this.#alone.splice(this.#alone.indexOf(child), 1);
        await child.end();
      }
    });
  }

  async #attemptShared<T>(order: Order<T>): Promise<Outcome<T>> {
    this.#comingCount += 1;
    let child: EngineChild;
    try {
      child = await this.#sharedChild(order);
    } finally {
      this.#comingCount -= 1;
    }
    return await this.#attempt(child, order);
  }

  async #attempt<T>(child: EngineChild, order: Order<T>): Promise<Outcome<T>> {
    this.#watch.start();
    const { job, result } = await child.withJob(order.fields, (own) => order.perform(child, own));
    this.#endWhenIdle(child);
    try {
      return { kind: "done", value: await result };
    } catch (thrown) {
      order.undo?.();
      if (order.signal?.aborted === true) return { kind: "failed", error: thrown, suspect: false };
      if (thrown instanceof ProcessLost) {
        const { loss } = thrown;
        const suspect = job.begun && (loss.kind === "memory" || loss.kind === "crash");
        return { kind: "lost", loss, suspect };
      }
      const suspect = job.shared && isSuspicious(thrown);
      return { kind: "failed", error: thrown, suspect };
    }
  }

  /** Throws if the order must not be run or repeated. */
  #refuse({ signal }: Order<unknown>): void {
    if (this.#closed) throw closedError();
    if (signal?.aborted === true) throw cancelled();
  }

  async #sharedChild({
    signal,
    fields,
  }: Pick<Order<unknown>, "signal" | "fields">): Promise<EngineChild> {
    this.#idleTimer?.cancel();
    for (let wasTold = false; ; wasTold = true) {
      if (this.#shared === undefined || this.#shared.lost) this.#shared = this.#start();
      const child = this.#shared;
      const wasBounded = this.#bounded.has(child);
      try {
        await started(child, signal);
        if (wasBounded) this.#boundedFailures = 0;
        return child;
      } catch (thrown) {
        const isStart = thrown instanceof OperatingError && thrown.code === "query_failed";
        if (!isStart || this.#closed) throw thrown;
        if (!wasBounded || wasTold) {
          this.#startFailed(thrown.message);
          throw thrown;
        }
        if (this.#bounded.delete(child)) {
          this.#boundedFailures += 1;
          this.#isUnboundedNext = true;
        }
        const message = "the engine does not start within the kernel's limit of memory: without it";
        this.#logger.warn(fields, `${message} (${thrown.message})`);
      }
    }
  }

  /** Retries by itself, so that no statement is needed to find out that it works again. */
  #startFailed(reason: string): void {
    this.#options.health?.failed(reason);
    if (this.#startRetry !== undefined) return;
    this.#startFailures += 1;
    this.#startRetry = this.#clock.after(backoffMs(startPause, this.#startFailures), () => {
      this.#startRetry = undefined;
      if (this.#closed) return;
      this.#sharedChild({ signal: undefined, fields: {} }).then(
        (child) => this.#endWhenIdle(child),
        () => undefined, // Reported above.
      );
    });
  }

  #started(): void {
    this.#startFailures = 0;
    this.#startRetry?.cancel();
    this.#startRetry = undefined;
    this.#options.health?.ok();
  }

  #start(): EngineChild {
    // A failed start may be a coincidence: the start after the next is within the limit again.
    const bounded = !this.#isUnboundedNext && this.#boundedFailures < boundedFailuresMax;
    this.#isUnboundedNext = false;
    const { instance, spawn, observer } = this.#options;
    const tempDir = join(instance.tempDir, `process-${this.#processNext}`);
    this.#processNext += 1;
    const startMs = this.#clock.nowMs();
    const options = { ...instance, tempDir };
    const child = new EngineChild(spawn(bounded), options, this.#clock, tempDir);
    this.#living.add(child);
    if (bounded) this.#bounded.add(child);
    void child.ready.then(
      () => {
        observer.processStarted(this.#clock.nowMs() - startMs);
        this.#started();
      },
      () => undefined,
    );
    void child.removed.then(() => this.#living.delete(child));
    void child.exited.then(() => {
      if (this.#shared === child) this.#shared = undefined;
      const { loss } = child;
      if (loss === undefined || loss.kind === "closed") return;
      observer.processLost(loss.kind);
      this.#logLoss(child, loss);
    });
    return child;
  }

  /** One line names everybody whose statement ran in it. */
  #logLoss(child: EngineChild, { kind: reason, message }: Loss): void {
    const begun = child.begunAtLoss.map(({ fields }) => fields);
    for (const fields of begun.length === 0 ? [{}] : begun) {
      this.#logger.warn({ ...fields, reason }, `the engine's process is gone: ${message}`);
    }
  }

  /** Ends the shared process after `idleMs` without orders. */
  #endWhenIdle(child: EngineChild): void {
    if (this.#closed || child !== this.#shared || !this.#isIdle()) return;
    this.#idleTimer?.cancel();
    this.#idleTimer = this.#clock.after(this.#options.idleMs, () => {
      if (child === this.#shared && this.#isIdle()) void this.#endShared();
    });
  }

  #isIdle(): boolean {
    return this.#comingCount === 0 && this.#shared?.idle === true;
  }

  async #endShared(): Promise<void> {
    const child = this.#shared;
    this.#shared = undefined;
    await child?.end();
  }

  #faultOf({ kind, message }: Loss): OperatingError {
    if (kind === "overdue") {
      return new OperatingError(
        "overloaded",
        "backoff",
        `the statement ran alone for more than ${turnMsMax / 1000} s and gave way to others: ${message}`,
        { hint: "Try it again later." },
      );
    }
    const limit = Math.round(this.#options.engineBytesMax / 1024 ** 2);
    const isMemory = kind === "memory";
    const code = isMemory ? "statement_too_large" : "query_failed";
    this.#options.observer.statementAtFault(code);
    return isMemory
      ? new OperatingError(
          code,
          "never",
          `the statement takes more memory than the ${limit} MiB that one may take here, and was stopped`,
          { hint: memoryHint },
        )
      : new OperatingError(
          code,
          "never",
          `the statement ended DuckDB's process (${message}), alone as well`,
          { hint: "Write it in another way; this is a fault of the engine." },
        );
  }
}

const crowdedOut: Loss = {
  kind: "overdue",
  message: `more than ${overdueMax} statements took so long`,
};

/** A process that did not start says nothing about the statement. */
async function started(child: EngineChild, signal: AbortSignal | undefined): Promise<void> {
  const left = Promise.withResolvers<never>();
  const onAbort = (): void => left.reject(cancelled());
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    await Promise.race([child.ready, left.promise]);
  } catch (thrown) {
    if (!(thrown instanceof ProcessLost)) throw thrown;
    if (thrown.loss.kind === "closed") throw closedError();
    const message = `the engine's process did not start: ${thrown.loss.message}`;
    throw new OperatingError("query_failed", "backoff", message);
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}

/** Without memory DuckDB fails in many ways, also with an internal error or a missing result. */
export function isSuspicious(thrown: unknown): boolean {
  const codes = ["statement_too_large", "query_failed"];
  return thrown instanceof OperatingError && codes.includes(thrown.code);
}

export function closedError(): OperatingError {
  return new OperatingError("shutting_down", "backoff", "the engine is closed");
}
