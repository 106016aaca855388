/**
 * The head of the metrics, while this process leads: started when it gets the lease, closed when it has lost it for good, or
 * ends.
 *
 *   MO1  There is one head in this process at the most: the next is started when the last is closed.
 *   MO2  A lease that is in doubt does not close it at once: what is written then is in its log, and is published when the lease is
 *        back. After `stepDownMs` it is closed.
 *   MO3  A start that fails is tried again, for as long as this process leads.
 */
import { type Clock, sleep, type Timer } from "../kernel/clock.ts";
import { messageOf, type OperatingError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { IngestService } from "../metrics/index.ts";

/** A running head, and what belongs to it. */
export interface OwnedMetrics {
  readonly ingest: IngestService;
  /** Resolves if it breaks; never when it is closed. */
  readonly failure: Promise<OperatingError>;
  close(): Promise<void>;
}

export interface MetricsOwnerOptions {
  readonly start: () => Promise<OwnedMetrics>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly stepDownMs?: number;
}

const stepDownMsDefault = 10_000;
const retryMsMin = 200;
const retryMsMax = 5_000;

export class MetricsOwner {
  /** Resolves when a head broke: the process should end and be restarted. */
  readonly failure: Promise<OperatingError>;
  readonly #options: MetricsOwnerOptions;
  readonly #fail: (error: OperatingError) => void;
  readonly #stopped = new AbortController();
  #wanted: boolean = false;
  #owned: OwnedMetrics | undefined;
  #stepDown: Timer | undefined;
  #reconciling: Promise<void> | undefined;

  constructor(options: MetricsOwnerOptions) {
    this.#options = options;
    const { promise, resolve } = Promise.withResolvers<OperatingError>();
    this.failure = promise;
    this.#fail = resolve;
  }

  /** `undefined`: another process has the head, or this one is about to. */
  current(): IngestService | undefined {
    return this.#owned?.ingest;
  }

  /** Called with every change of the lease. */
  leaseChanged(leading: boolean): void {
    const { clock, stepDownMs = stepDownMsDefault } = this.#options;
    this.#stepDown?.cancel();
    this.#stepDown = undefined;
    if (leading) this.#want(true);
    else this.#stepDown = clock.after(stepDownMs, () => this.#want(false)); // MO2
  }

  /** Closes it and starts no other. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#stepDown?.cancel();
    this.#want(false);
    await this.#reconciling;
  }

  #want(wanted: boolean): void {
    this.#wanted = wanted && !this.#stopped.signal.aborted;
    this.#reconciling ??= this.#reconcile().finally(() => {
      this.#reconciling = undefined;
      if (this.#wanted !== (this.#owned !== undefined)) this.#want(this.#wanted);
    });
  }

  /** MO1. Never rejects. */
  async #reconcile(): Promise<void> {
    let retryMs = retryMsMin;
    while (this.#wanted !== (this.#owned !== undefined)) {
      if (!this.#wanted) {
        await this.#close();
        continue;
      }
      try {
        await this.#start();
        retryMs = retryMsMin;
      } catch (thrown) {
        const { clock, logger } = this.#options;
        logger.warn({ retry_ms: retryMs }, `the metrics head did not start: ${messageOf(thrown)}`);
        await sleep(clock, retryMs, this.#stopped.signal); // MO3
        retryMs = Math.min(retryMs * 2, retryMsMax);
      }
    }
  }

  async #start(): Promise<void> {
    const owned = await this.#options.start();
    this.#owned = owned;
    this.#options.logger.info({}, "this process owns the metrics head");
    void owned.failure.then((error) => {
      if (this.#owned === owned) this.#fail(error);
    });
  }

  async #close(): Promise<void> {
    const owned = this.#owned;
    this.#owned = undefined;
    try {
      await owned?.close();
    } catch (thrown) {
      this.#options.logger.warn({}, `the metrics head did not close: ${messageOf(thrown)}`);
    }
  }
}
