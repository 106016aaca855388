/**
 * The metrics head while this process leads (QP12): started with the lease, closed when the lease
 * is lost for good or the process ends. A head belongs to one grant of the lease, whose epoch
 * fences its log and what it publishes.
 * This process has at most one head: the next starts after the last was closed, and a new epoch
 * needs a new one, since another process may have had the log in between. While the lease is in
 * doubt, the head acknowledges only what the store confirms. After `stepDownMs` it is closed,
 * unless the lease is still ours and only cannot be renewed: then it can be read.
 * A failed start is retried. A head that was fenced, or whose log is damaged or out of reach, is
 * closed and started again. Any other failure ends the process.
 */

import type { Clock } from "../../../ground/kernel/clock.ts";
import { messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import type { HealthReporter } from "../../../ground/kernel/health.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import { KeyedQueue } from "../../../ground/reconcile/index.ts";
import { type LeaseGrant, StepDown } from "../../../ground/store/index.ts";
import type { IngestService } from "../metrics/index.ts";

/** A running head, and what belongs to it. */
export interface OwnedMetrics {
  readonly ingest: IngestService;
  /** Resolves when the head breaks; never on close. */
  readonly failure: Promise<OperatingError>;
  close(): Promise<void>;
}

export interface MetricsOwnerOptions {
  readonly start: (grant: LeaseGrant) => Promise<OwnedMetrics>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly health: HealthReporter;
  readonly stepDownMs?: number;
  /** Whether the store still names this process as the holder of a lease in doubt. */
  readonly standsAsOurs?: () => boolean;
}

/** How long the end of the process waits for a start in progress. */
const startMsMax = 60_000;

export class MetricsOwner {
  /** Resolves when a head broke: the process should end and be restarted. */
  readonly failure: Promise<OperatingError>;
  readonly #options: MetricsOwnerOptions;
  readonly #fail: (error: OperatingError) => void;
  readonly #queue: KeyedQueue<"head">;
  #wanted: LeaseGrant | undefined;
  #owned: { readonly head: OwnedMetrics; readonly epoch: number; isBroken: boolean } | undefined;
  #trouble: OperatingError | undefined;
  readonly #stepDown: StepDown;
  #isStopped = false;

  constructor(options: MetricsOwnerOptions) {
    this.#options = options;
    const { promise, resolve } = Promise.withResolvers<OperatingError>();
    this.failure = promise;
    this.#fail = resolve;
    const { clock, logger } = options;
    this.#stepDown = new StepDown({
      clock,
      stepDownMs: options.stepDownMs,
      standsAsOurs: () => options.standsAsOurs?.() === true,
      onStepDown: () => this.#want(undefined),
    });
    this.#queue = new KeyedQueue({
      clock,
      logger,
      reconcile: () => this.#reconcile(),
      backoff: { minMs: 200, maxMs: 5_000 },
      stopMsMax: startMsMax,
      trouble: "the metrics head did not start",
    });
    this.#queue.start();
  }

  /** Returns undefined when another process has the head, or this one is still starting it. */
  current(): IngestService | undefined {
    return this.#owned === undefined || this.#owned.isBroken ? undefined : this.#owned.head.ingest;
  }

  /**
   * Why there is no head although this process leads. Undefined while it starts, or when another
   * process has it.
   */
  trouble(): OperatingError | undefined {
    return this.current() === undefined && this.#wanted !== undefined ? this.#trouble : undefined;
  }

  /** Called on every change of the lease. */
  leaseChanged(grant: LeaseGrant | undefined): void {
    if (grant === undefined) {
      this.#stepDown.lost();
      return;
    }
    this.#stepDown.cancel();
    this.#want(grant);
  }

  /** Closes the head and starts no other. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#stepDown.cancel();
    this.#wanted = undefined;
    await this.#queue.stop();
    await this.#close();
  }

  #want(wanted: LeaseGrant | undefined): void {
    if (this.#isStopped) return;
    this.#wanted = wanted;
    this.#queue.add("head");
  }

  /** Closes the old head before it starts the next. */
  async #reconcile(): Promise<void> {
    if (this.#owned?.epoch === this.#wanted?.epoch && this.#owned?.isBroken !== true) return;
    await this.#close();
    if (this.#wanted === undefined) {
      this.#trouble = undefined;
      this.#options.health.ok(); // Who does not lead needs none.
      return;
    }
    try {
      await this.#start(this.#wanted);
    } catch (thrown) {
      this.#report(thrown);
      throw thrown;
    }
  }

  async #start(grant: LeaseGrant): Promise<void> {
    const head = await this.#options.start(grant);
    const owned = { head, epoch: grant.epoch, isBroken: false };
    this.#owned = owned;
    this.#trouble = undefined;
    this.#options.health.ok();
    this.#options.logger.info({ lease_epoch: grant.epoch }, "this process owns the metrics head");
    void head.failure.then((error) => {
      if (this.#owned !== owned) return;
      this.#report(error);
      if (!isPassing(error)) {
        this.#fail(error);
        return;
      }
      owned.isBroken = true;
      this.#want(this.#wanted);
    });
  }

  #report(thrown: unknown): void {
    this.#trouble = thrown instanceof OperatingError ? thrown : undefined;
    const reason = `no samples are taken in: ${messageOf(thrown)}`;
    // A temporary problem, such as a full disk, does not cost the readiness: the head can be read.
    const isLasting =
      !(thrown instanceof OperatingError) ||
      (thrown.retry === "never" && thrown.code !== "disk_full");
    if (isLasting) this.#options.health.failed(reason);
    else this.#options.health.degraded(reason);
  }

  async #close(): Promise<void> {
    const owned = this.#owned;
    this.#owned = undefined;
    try {
      await owned?.head.close();
    } catch (thrown) {
      this.#options.logger.warn({}, `the metrics head did not close: ${messageOf(thrown)}`);
    }
  }
}

/** Errors that a later start may find resolved. */
const passingCodes: ReadonlySet<string> = new Set([
  "data_dir_unusable",
  "disk_full",
  "lease_lost",
  "store_corrupt",
]);

function isPassing({ code }: OperatingError): boolean {
  return passingCodes.has(code);
}
