/**
 * One process of the engine, seen from the process that started it: who asks what in it, and who was
 * in it when it went.
 *
 *   EC1  Every request is answered, or fails with `ProcessLost` when the process is gone.
 *   EC2  A request that was aborted and is not over after `cancelMsMax` costs the process.
 *   EC3  A job is one thing that somebody asked for, of one request or several. It *shared* the
 *        process when another job ran in it at the same time or before it: then what became of the
 *        process, or of its memory, may be another's doing.
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

export const cancelMsMax = 2_000;
/** An orderly end takes some milliseconds; it is not worth a longer wait. */
const closeMsMax = 1_000;

/** `Far`: what its process takes, which is DuckDB for workers' SQL unless given. */
export class EngineChild<Far extends Side = EngineService> {
  /** Its temporary directory is gone too. */
  readonly removed: Promise<void>;
  readonly #link: ProcessLink;
  readonly #peer: Peer<Far>;
  readonly #clock: Clock;
  readonly #jobs = new Set<Job>();
  #jobsBefore = 0;
  /** Why it is being killed, or has gone. */
  #loss: Loss | undefined;
  #begunAtLoss: readonly Job[] = [];

  /** `tempDir` is removed when it has ended. */
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

  /** Rejects when it does not come up. */
  get ready(): Promise<void> {
    return this.#peer.ready;
  }

  get exited(): Promise<void> {
    return this.#peer.exited;
  }

  get pid(): number | undefined {
    return this.#link.pid;
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
        this.kill({ kind: "cancel", message }); // EC2
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

  /** At once. Its requests fail when it is gone. */
  kill(loss: Loss): void {
    this.#loss ??= loss;
    void this.#peer.kill();
  }

  /** Interrupts what runs; what does not stop soon is killed. Resolves when it is gone. */
  async end(): Promise<void> {
    if (this.#loss === undefined) {
      this.#loss = { kind: "closed", message: "it was closed" };
      await this.#peer.stop({ graceMs: closeMsMax, reason: new ProcessLost(this.#loss) });
    }
    await this.exited;
  }

  /** EC3 */
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

/** It may be that nothing was made in it; what cannot be removed now is at the next start. */
async function removeDir(path: string | undefined): Promise<void> {
  if (path === undefined) return;
  await rm(path, { recursive: true, force: true }).catch(() => undefined);
}
