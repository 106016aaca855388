/**
 * Looks at all queries every few seconds while this process leads, for metrics, and whenever an
 * autoscaler asks. Rules: SD65 to SD67.
 */
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Logger } from "../../../../ground/kernel/logger.ts";
import type { Metrics } from "../../../../ground/observe/index.ts";
import { Loop } from "../../../../ground/reconcile/index.ts";
import type { LeaseGrant, Store } from "../../../../ground/store/index.ts";
import type { LiveFigures } from "../core/live-figures.ts";
import {
  gaugesOf,
  type LiveOf,
  loadOf,
  type StreamGauges,
  type StreamLoad,
} from "../core/stream-gauges.ts";
import { createStreamMetrics } from "../stream-metrics.ts";
import { WatchedRowsReader } from "./read-watched.ts";

export interface QueriesWatchOptions {
  readonly store: Store;
  readonly lease: () => LeaseGrant | undefined;
  readonly figures: LiveFigures;
  /** Absent where no one reads them. */
  readonly metrics: Metrics | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

const lookMs = 5_000;

export class QueriesWatch {
  readonly #options: QueriesWatchOptions;
  readonly #reader = new WatchedRowsReader();
  readonly #looking: Loop;
  #gauges: StreamGauges | undefined;

  constructor(options: QueriesWatchOptions) {
    const { metrics, clock, logger } = options;
    this.#options = options;
    if (metrics !== undefined) createStreamMetrics(metrics, () => this.#gauges);
    this.#looking = new Loop({
      clock,
      logger,
      everyMs: lookMs,
      trouble: "cannot tell how continuous queries are doing",
      turn: async () => {
        this.#gauges = await this.#look();
      },
    });
  }

  start(): void {
    if (this.#options.metrics !== undefined) this.#looking.start();
  }

  /** Must be called when this process gains or loses the lease. */
  leaseChanged(): void {
    if (this.#options.lease() === undefined) this.#gauges = undefined;
    else if (this.#options.metrics !== undefined) this.#looking.poke();
  }

  async stop(): Promise<void> {
    await this.#looking.stop();
    this.#gauges = undefined;
  }

  /** Throws `not_leader` on a process that receives no figures. */
  async load(): Promise<StreamLoad> {
    const { store, lease, clock } = this.#options;
    if (lease() === undefined) {
      throw new OperatingError("not_leader", "backoff", "this process does not hold the lease");
    }
    const rows = await store.read((tx) => this.#reader.read(tx));
    return loadOf(rows, this.#liveOf, clock.wallMs());
  }

  async #look(): Promise<StreamGauges | undefined> {
    const { store, lease, clock } = this.#options;
    if (lease() === undefined) return undefined;
    const rows = await store.read((tx) => this.#reader.read(tx));
    return gaugesOf(rows, this.#liveOf, clock.wallMs());
  }

  readonly #liveOf: LiveOf = (query, epoch, fragment) =>
    this.#options.figures.of(query, epoch, fragment, this.#options.clock.nowMs());
}
