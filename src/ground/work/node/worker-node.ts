/**
 * A worker, built from ports only: the endpoint of its control sessions, the manager of its work,
 * and the loop that registers it. `main.ts` gives it gRPC, DuckDB and a disk; the simulator gives
 * it its own. Rules: WN1 to WN5.
 */

import { type SessionTiming, type WorkerChannel, WorkerEndpoint } from "../../cluster/index.ts";
import type { Backoff } from "../../kernel/backoff.ts";
import { type Clock, waitAtMost } from "../../kernel/clock.ts";
import type { Incarnation, WorkerId } from "../../kernel/ids.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Prng } from "../../kernel/prng.ts";
import { Loop } from "../../reconcile/index.ts";
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
  /** Of kinds of work, beside the channel of work. */
  readonly channels?: readonly WorkerChannel[];
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

/** Starts to wait until a kind of work has left the worker. */
export type WaitForDrain = () => Promise<void>;

const stopMsMax = 2_000;

export class WorkerNode {
  readonly endpoint: WorkerEndpoint;
  readonly manager: WorkerWorkManager;
  readonly #options: WorkerNodeOptions;
  #registration: Loop | undefined;
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
      channels: [workChannelOf(this.manager), ...(options.channels ?? [])],
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
    if (register === undefined) return;
    this.#registration = this.#registrationBy(register);
    this.#registration.start();
  }

  /**
   * WN2. Returns true when all accepted work has ended and was fetched, and whatever `others` begin
   * to wait for then is over. Call `stop` next.
   */
  async drain(timeoutMs: number, others: readonly WaitForDrain[] = []): Promise<boolean> {
    this.#ownDrain = true;
    this.#admit();
    const waits = [this.manager.whenIdle(), ...others.map((wait) => wait())];
    const idle = Promise.all(waits).then(() => true);
    return await waitAtMost(this.#options.clock, timeoutMs, idle, false);
  }

  /** WN3. */
  async stop(): Promise<void> {
    const stopped = this.#registration?.stop();
    this.endpoint.close("shutting down");
    this.manager.close();
    await stopped;
  }

  /** WN5: whether it neither drains nor is blocked. */
  get takesWork(): boolean {
    return !(this.#ownDrain || this.#askedDrain || this.#isBlocked);
  }

  /** WN4 */
  setBlocked(isBlocked: boolean): void {
    this.#isBlocked = isBlocked;
    this.#admit();
  }

  /** An operator may end an operator's drain, but not that of a process which is stopping. */
  #admit(): void {
    this.manager.setDraining(!this.takesWork);
  }

  /** Registers at the start, and again after `reregisterMs` without a coordinator. */
  #registrationBy(register: () => Promise<void>): Loop {
    const { clock, prng, logger, reregisterMs = 15_000 } = this.#options;
    let coordinatorSeenMs = clock.nowMs();
    return new Loop({
      clock,
      prng,
      logger,
      everyMs: reregisterMs / 10,
      backoff: this.#options.registerBackoff ?? { minMs: 200, maxMs: 5_000 },
      stopMsMax,
      trouble: "registration failed",
      turn: async () => {
        if (this.#hasCoordinator()) coordinatorSeenMs = clock.nowMs();
        if (!this.#registered || clock.nowMs() - coordinatorSeenMs >= reregisterMs) {
          await register();
          this.#registered = true;
          coordinatorSeenMs = clock.nowMs();
        }
        // Jittered, so that workers that lost the same coordinator do not return together.
        return { requeueAfterMs: (reregisterMs / 10) * (1 + prng.next()) };
      },
    });
  }

  #hasCoordinator(): boolean {
    return this.endpoint.sessions().some(({ role }) => role === "coordinator");
  }
}
