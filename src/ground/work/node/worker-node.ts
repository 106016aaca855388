/**
 * A worker, built from ports only: the endpoint of its control sessions, the manager of its work,
 * and the loop that registers it. `main.ts` gives it gRPC, DuckDB and a disk; the simulator gives
 * it its own. Rules: N1 to N5.
 */

import { type SessionTiming, WorkerEndpoint } from "../../cluster/index.ts";
import { type Backoff, backoffMs } from "../../kernel/backoff.ts";
import { type Clock, sleep } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import type { Incarnation, WorkerId } from "../../kernel/ids.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Prng } from "../../kernel/prng.ts";
import {
  type ArtifactSpool,
  type Executor,
  type WorkerQueryObserver,
  type WorkerWorkLimits,
  WorkerWorkManager,
} from "../core/index.ts";
import { workChannelOf, workReporterOf } from "../wire/work-channel.ts";

/** The classes that a worker is built from. The simulator's planted bugs subclass them. */
export interface WorkerParts {
  readonly WorkerEndpoint: typeof WorkerEndpoint;
  readonly WorkerWorkManager: typeof WorkerWorkManager;
}

export interface WorkerNodeOptions {
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
  readonly workerId: WorkerId;
  readonly incarnation: Incarnation;
  readonly softwareVersion: string;
  readonly capacity: number;
  readonly executor: Executor;
  readonly spool: ArtifactSpool;
  /** Where this worker serves artifacts, as `http://host:port`; read once it listens. */
  readonly dataUrl: () => string;
  /** One attempt to register. Absent when controllers find it by a static list or DNS. */
  readonly register?: () => Promise<void>;
  /** Called when the cluster dropped this worker: the process should end. */
  readonly onDropped?: () => void;
  readonly limits?: Partial<WorkerWorkLimits>;
  readonly timing?: SessionTiming;
  readonly observer?: Partial<WorkerQueryObserver>;
  /** The shortest and longest pause between two attempts. */
  readonly registerBackoff?: Backoff;
  /** How long to be without a coordinator before registering again. */
  readonly reregisterMs?: number;
  readonly parts?: Partial<WorkerParts>;
}

const stopMsMax = 2_000;

export class WorkerNode {
  readonly endpoint: WorkerEndpoint;
  readonly manager: WorkerWorkManager;
  readonly #options: WorkerNodeOptions;
  readonly #stopped = new AbortController();
  #registering: Promise<void> | undefined;
  #registered = false;
  #ownDrain = false;
  #askedDrain = false;
  #isBlocked = false;

  constructor(options: WorkerNodeOptions) {
    this.#options = options;
    const parts: WorkerParts = { WorkerEndpoint, WorkerWorkManager, ...options.parts };
    const { clock, logger, workerId, incarnation, capacity, dataUrl, softwareVersion } = options;
    this.manager = new parts.WorkerWorkManager({
      executor: options.executor,
      spool: options.spool,
      clock,
      logger,
      dataUrl,
      ...(options.limits === undefined ? {} : { limits: options.limits }),
      ...(options.observer === undefined ? {} : { observer: options.observer }),
    });
    this.endpoint = new parts.WorkerEndpoint({
      clock,
      logger,
      workerId,
      incarnation,
      capacity,
      dataUrl,
      softwareVersion,
      channels: [workChannelOf(this.manager)],
      onSetDraining: (draining) => {
        this.#askedDrain = draining;
        this.#admit();
      },
      onDropped: () => options.onDropped?.(),
      ...(options.timing === undefined ? {} : { timing: options.timing }),
    });
    this.manager.attach(workReporterOf(this.endpoint));
  }

  /** For the control server. */
  get accept(): WorkerEndpoint["accept"] {
    return this.endpoint.accept;
  }

  /** Whether a coordinator has accepted the registration; true at once where none is needed. */
  get registered(): boolean {
    return this.#registered || this.#options.register === undefined;
  }

  /** Call it once the control and data servers listen. */
  start(): void {
    const { register } = this.#options;
    if (register !== undefined) this.#registering = this.#keepRegistered(register);
  }

  /** N2. Returns true when all accepted work has ended and was fetched. Call `stop` next. */
  async drain(timeoutMs: number): Promise<boolean> {
    this.#ownDrain = true;
    this.#admit();
    const timeout = new AbortController();
    const idle = this.manager.whenIdle().then(() => true);
    const late = sleep(this.#options.clock, timeoutMs, timeout.signal).then(() => false);
    const finished = await Promise.race([idle, late]);
    timeout.abort();
    return finished;
  }

  /** N3. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    this.endpoint.close("shutting down");
    this.manager.close();
    if (this.#registering === undefined) return;
    const timeout = new AbortController();
    const late = sleep(this.#options.clock, stopMsMax, timeout.signal);
    await Promise.race([this.#registering, late]);
    timeout.abort();
  }

  /** N5: whether it neither drains nor is blocked. */
  get takesWork(): boolean {
    return !(this.#ownDrain || this.#askedDrain || this.#isBlocked);
  }

  /** N4 */
  setBlocked(isBlocked: boolean): void {
    this.#isBlocked = isBlocked;
    this.#admit();
  }

  /** An operator may end an operator's drain, but not that of a process which is stopping. */
  #admit(): void {
    this.manager.setDraining(!this.takesWork);
  }

  async #keepRegistered(register: () => Promise<void>): Promise<void> {
    const { clock, prng, reregisterMs = 15_000 } = this.#options;
    const { signal } = this.#stopped;
    let coordinatorSeenMs = clock.nowMs();
    while (!signal.aborted) {
      if (!this.#registered || clock.nowMs() - coordinatorSeenMs >= reregisterMs) {
        await this.#registerUntilHeard(register, signal);
        coordinatorSeenMs = clock.nowMs();
      }
      // Jittered, so that workers that lost the same coordinator do not return together.
      await sleep(clock, (reregisterMs / 10) * (1 + prng.next()), signal);
      if (this.#hasCoordinator()) coordinatorSeenMs = clock.nowMs();
    }
  }

  async #registerUntilHeard(register: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const { clock, prng, logger, registerBackoff = { minMs: 200, maxMs: 5_000 } } = this.#options;
    for (let failures = 1; !signal.aborted; failures += 1) {
      const waitMs = backoffMs(registerBackoff, failures, prng.next());
      try {
        await register();
        this.#registered = true;
        return;
      } catch (thrown) {
        const retryMs = Math.round(waitMs);
        logger.warn({ error: messageOf(thrown), retry_ms: retryMs }, "registration failed");
      }
      await sleep(clock, waitMs, signal);
      // A coordinator that dialled meanwhile knows this worker already.
      if (this.#registered && this.#hasCoordinator()) return;
    }
  }

  #hasCoordinator(): boolean {
    return this.endpoint.sessions().some(({ role }) => role === "coordinator");
  }
}
