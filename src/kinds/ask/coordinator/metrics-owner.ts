/**
 * The head of the metrics, while this process leads: started when it gets the lease, closed when it has lost it for good, or
 * ends. A head belongs to one grant of the lease: its log is fenced by that epoch, and so is what
 * it publishes.
 *
 *   MO1  There is one head in this process at the most: the next is started when the last is closed.
 *   MO2  A lease that is in doubt does not close it at once: it acknowledges what the store
 *        confirms, and is still there when the lease is back under the same epoch. After
 *        `stepDownMs` it is closed, unless the lease still stands in our name and only cannot be
 *        renewed: then it is read.
 *   MO3  A start that fails is tried again, for as long as this process leads, and the health of
 *        the part says why.
 *   MO4  Under a new epoch the head is another one: somebody else may have had the log in between.
 *   MO5  A head that another one fenced, or whose log is damaged or out of reach, is closed and
 *        tried again; the process goes on answering. Any other failure is told, and ends the
 *        process.
 */

import type { Clock, Timer } from "../../../ground/kernel/clock.ts";
import { messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import type { HealthReporter } from "../../../ground/kernel/health.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import { KeyedQueue } from "../../../ground/reconcile/index.ts";
import type { LeaseGrant } from "../../../ground/store/index.ts";
import type { IngestService } from "../metrics/index.ts";

/** A running head, and what belongs to it. */
export interface OwnedMetrics {
  readonly ingest: IngestService;
  /** Resolves if it breaks; never when it is closed. */
  readonly failure: Promise<OperatingError>;
  close(): Promise<void>;
}

export interface MetricsOwnerOptions {
  readonly start: (grant: LeaseGrant) => Promise<OwnedMetrics>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly health: HealthReporter;
  readonly stepDownMs?: number;
  /** Whether a lease that is in doubt stands in our name in the store. MO2 */
  readonly standsAsOurs?: () => boolean;
}

const stepDownMsDefault = 10_000;
/** How often a lease that cannot be renewed is looked at. */
const standsMs = 1_000;
/** The longest that the end of the process waits for a start that is under way. */
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
  #stepDown: Timer | undefined;
  #isStopped = false;

  constructor(options: MetricsOwnerOptions) {
    this.#options = options;
    const { promise, resolve } = Promise.withResolvers<OperatingError>();
    this.failure = promise;
    this.#fail = resolve;
    const { clock, logger } = options;
    this.#queue = new KeyedQueue({
      clock,
      logger,
      reconcile: () => this.#reconcile(),
      backoff: { minMs: 200, maxMs: 5_000 }, // MO3
      stopMsMax: startMsMax,
      trouble: "the metrics head did not start",
    });
    this.#queue.start();
  }

  /** `undefined`: another process has the head, or this one is about to. */
  current(): IngestService | undefined {
    return this.#owned === undefined || this.#owned.isBroken ? undefined : this.#owned.head.ingest;
  }

  /**
   * Why there is no head although this process leads; `undefined`: it is just starting, or another
   * process has it.
   */
  trouble(): OperatingError | undefined {
    return this.current() === undefined && this.#wanted !== undefined ? this.#trouble : undefined;
  }

  /** Called with every change of the lease. */
  leaseChanged(grant: LeaseGrant | undefined): void {
    const { clock, stepDownMs = stepDownMsDefault } = this.#options;
    this.#stepDown?.cancel();
    this.#stepDown = undefined;
    if (grant !== undefined) this.#want(grant);
    else this.#stepDown = clock.after(stepDownMs, () => this.#steppedDown());
  }

  /** MO2 */
  #steppedDown(): void {
    const { clock, standsAsOurs } = this.#options;
    if (standsAsOurs?.() !== true) this.#want(undefined);
    else this.#stepDown = clock.after(standsMs, () => this.#steppedDown());
  }

  /** Closes it and starts no other. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#stepDown?.cancel();
    this.#wanted = undefined;
    await this.#queue.stop();
    await this.#close();
  }

  #want(wanted: LeaseGrant | undefined): void {
    if (this.#isStopped) return;
    this.#wanted = wanted;
    this.#queue.add("head");
  }

  /** MO1 */
  async #reconcile(): Promise<void> {
    if (this.#owned?.epoch === this.#wanted?.epoch && this.#owned?.isBroken !== true) return;
    await this.#close(); // MO4, MO5
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
    // What passes by itself, such as a full disk, does not cost the readiness: it can be read.
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

/** MO5: what another start may find mended. */
const passingCodes: ReadonlySet<string> = new Set([
  "data_dir_unusable",
  "disk_full",
  "lease_lost",
  "store_corrupt",
]);

function isPassing({ code }: OperatingError): boolean {
  return passingCodes.has(code);
}
