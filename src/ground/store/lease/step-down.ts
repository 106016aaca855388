/**
 * Decides when a process that lost its lease gives up what the lease allowed: `stepDownMs` after
 * the loss, so that a lease which comes back soon costs nothing. While the store still names this
 * process as the holder, and the lease only cannot be renewed, it asks again every second.
 */
import type { Clock, Timer } from "../../kernel/clock.ts";

export interface StepDownOptions {
  readonly clock: Clock;
  /** Default 10 s. */
  readonly stepDownMs?: number | undefined;
  /** Whether the store still names this process as the holder of a lease in doubt. */
  readonly standsAsOurs: () => boolean;
  readonly onStepDown: () => void;
}

const stepDownMsDefault = 10_000;
/** How often a lease that cannot be renewed is checked. */
const standsMs = 1_000;

export class StepDown {
  readonly #options: StepDownOptions;
  #timer: Timer | undefined;

  constructor(options: StepDownOptions) {
    this.#options = options;
  }

  /** The lease is held. Also ends the wait when the process stops. */
  cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** The lease was lost. */
  lost(): void {
    this.#lookAfter(this.#options.stepDownMs ?? stepDownMsDefault);
  }

  /** The store names this process as the holder, but the lease cannot be renewed. */
  stands(): void {
    this.#lookAfter(standsMs);
  }

  #lookAfter(delayMs: number): void {
    this.cancel();
    this.#timer = this.#options.clock.after(delayMs, () => {
      if (this.#options.standsAsOurs()) this.stands();
      else this.#options.onStepDown();
    });
  }
}
