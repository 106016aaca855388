/**
 * One engine process, seen from its owner: which jobs run in it, and which ran when it was lost.
 *
 * Every request is answered or fails with `ProcessLost`. A job is one order, of one or more
 * requests. It *shared* the process when another job ran in it before or at the same time: then the
 * loss of the process, or of its memory, may be the other's fault.
 */
import { rm } from "node:fs/promises";
import type { Clock } from "../../ground/kernel/clock.ts";
import { OperatingError } from "../../ground/kernel/errors.ts";
import type { LogFields } from "../../ground/kernel/logger.ts";
import {
  type AnswerOf,
  type ArgumentOf,
  Peer,
  type ProcessLink,
  type RequestOf,
  type Side,
} from "../../ground/threads/index.ts";
import type { EngineService } from "./engine-messages.ts";
import { cancelled } from "./statement-pool.ts";

/** Why an engine process is gone. */
export interface Loss {
  /**
   * `memory`: it exceeded its share; `cancel`: it ignored a cancellation; `crash`: by itself;
   * `overdue`: its turn was over and others needed the room; `closed`: on request.
   */
  readonly kind: "memory" | "cancel" | "crash" | "overdue" | "closed";
  readonly message: string;
}

/** The process and its requests are lost. Users of the engine never see this error. */
export class ProcessLost extends OperatingError {
  readonly loss: Loss;

  constructor(loss: Loss) {
    super("query_failed", "backoff", `the engine's process is gone: ${loss.message}`);
    this.loss = loss;
  }
}

export interface Job {
  /** Whose job it is, for log lines. */
  readonly fields: LogFields;
  /** Whether it had a connection. */
  begun: boolean;
  /** Whether another job ran in the process before or at the same time. */
  shared: boolean;
}

export const cancelMsMax = 2_000;
/** An orderly end takes a few milliseconds. */
const closeMsMax = 1_000;

/** `Far` is the service in the process, by default DuckDB for workers' SQL. */
export class EngineChild<Far extends Side = EngineService> {
  /** Resolves when its temporary directory is deleted too. */
  readonly removed: Promise<void>;
  readonly #link: ProcessLink;
  readonly #peer: Peer<Far>;
  readonly #clock: Clock;
  readonly #jobs = new Set<Job>();
  #jobsBefore = 0;
  /** Why it is being killed or has gone. */
  #loss: Loss | undefined;
  #begunAtLoss: readonly Job[] = [];

  /** `tempDir` is deleted when the process has ended. */
  constructor(link: ProcessLink, open: unknown, clock: Clock, tempDir: string | undefined) {
    this.#link = link;
    this.#clock = clock;
    this.#peer = new Peer<Far>(link, {
      clock,
      open,
      lost: ({ message }) => {
        this.#loss ??= { kind: "crash", message };
        this.#begunAtLoss = [...this.#jobs].filter(({ begun }) => begun);
        return new ProcessLost(this.#loss);
      },
    });
    this.removed = this.exited.then(() => removeDir(tempDir));
  }

  /** Rejects when the process does not start. */
  get ready(): Promise<void> {
    return this.#peer.ready;
  }

  get exited(): Promise<void> {
    return this.#peer.exited;
  }

  get pid(): number | undefined {
    return this.#link.pid;
  }

  /** Whether no job runs or waits in it. */
  get idle(): boolean {
    return this.#jobs.size === 0;
  }

  /** Whether it takes no more requests. */
  get lost(): boolean {
    return this.#loss !== undefined;
  }

  get loss(): Loss | undefined {
    return this.#loss;
  }

  /** The jobs that ran when it was lost. */
  get begunAtLoss(): readonly Job[] {
    return this.#begunAtLoss;
  }

  /** `use` sends requests on behalf of the job. */
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

  async ask<N extends RequestOf<Far>>(
    job: Job,
    name: N,
    argument: ArgumentOf<Far, N>,
    signal?: AbortSignal,
  ): Promise<AnswerOf<Far, N>> {
    if (this.#loss !== undefined) throw new ProcessLost(this.#loss);
    let isOver: boolean = false;
    const onAbort = (): void => {
      this.#clock.after(cancelMsMax, () => {
        if (isOver) return;
        const message = `a statement ignored its cancellation for ${cancelMsMax} ms`;
        this.kill({ kind: "cancel", message });
      });
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      return await this.#peer.ask(name, argument, { signal, onProgress: () => this.#began(job) });
    } catch (thrown) {
      throw signal?.aborted === true ? cancelled() : thrown;
    } finally {
      isOver = true;
      signal?.removeEventListener("abort", onAbort);
    }
  }

  /** Kills the process. Its requests fail when it is gone. */
  kill(loss: Loss): void {
    this.#loss ??= loss;
    void this.#peer.kill();
  }

  /** Interrupts what runs, and kills what does not stop soon. Resolves when it is gone. */
  async end(): Promise<void> {
    if (this.#loss === undefined) {
      this.#loss = { kind: "closed", message: "it was closed" };
      await this.#peer.stop({ graceMs: closeMsMax, reason: new ProcessLost(this.#loss) });
    }
    await this.exited;
  }

  /** Marks the job as begun, and jobs that overlap as shared. */
  #began(job: Job): void {
    if (job.begun) return;
    job.begun = true;
    if (this.#jobsBefore > 0) job.shared = true;
    for (const other of this.#jobs) {
      if (other === job || !other.begun) continue;
      other.shared = true;
      job.shared = true;
    }
  }
}

/** The directory may not exist. What cannot be deleted now is deleted at the next start. */
async function removeDir(path: string | undefined): Promise<void> {
  if (path === undefined) return;
  await rm(path, { recursive: true, force: true }).catch(() => undefined);
}
