/** Keeps one claim alive while something is computed under it (TW3). */
import type { Clock, Timer } from "../../../ground/kernel/clock.ts";
import { AssertionError, messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";

export interface KeptClaim {
  readonly leaseMs: number;
  /** False when the claim is lost. */
  heartbeat(): Promise<boolean>;
  /** Fields for log lines. */
  readonly fields: Readonly<Record<string, string | number>>;
}

export interface ClaimKeeperOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly heartbeatMs: number;
}

/** Our clock may run slower than the database's, so the local deadline is 2 % shorter. */
const leaseShare = 0.98;

export const claimLost: OperatingError = new OperatingError(
  "lease_lost",
  "never",
  "the claim was lost",
);

export class ClaimKeeper {
  readonly #claim: KeptClaim;
  readonly #options: ClaimKeeperOptions;
  readonly #abort = new AbortController();
  #heartbeat: Timer | undefined;
  /** Fires when the claim was not extended in time, so that another worker may hold it. */
  #deadline: Timer | undefined;
  #isLost = false;
  #isEnded = false;

  constructor(claim: KeptClaim, options: ClaimKeeperOptions) {
    this.#claim = claim;
    this.#options = options;
    this.#armDeadline(claim.leaseMs);
    this.#scheduleHeartbeat();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Whether another worker, or none, holds the claim. */
  get isLost(): boolean {
    return this.#isLost;
  }

  get fields(): KeptClaim["fields"] {
    return this.#claim.fields;
  }

  abort(reason: OperatingError): void {
    this.#abort.abort(reason);
  }

  lose(when: string): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.end();
    this.#options.logger.warn(this.#claim.fields, `a claim was lost ${when}`);
    this.#abort.abort(claimLost);
  }

  /** Stops the heartbeats. */
  end(): void {
    this.#isEnded = true;
    this.#heartbeat?.cancel();
    this.#deadline?.cancel();
  }

  #scheduleHeartbeat(): void {
    const { clock, heartbeatMs } = this.#options;
    this.#heartbeat = clock.after(heartbeatMs, () => this.#beat());
  }

  #beat(): void {
    const { clock, logger } = this.#options;
    const sentMs = clock.nowMs();
    void attempt(() => this.#claim.heartbeat()).then(
      (isHeld) => {
        if (this.#isEnded) return;
        if (!isHeld) {
          this.lose("when it was to be extended");
          return;
        }
        this.#armDeadline(this.#claim.leaseMs - (clock.nowMs() - sentMs));
        this.#scheduleHeartbeat();
      },
      (thrown: unknown) => {
        if (thrown instanceof AssertionError) throw thrown;
        if (this.#isEnded) return;
        const fields = { ...this.#claim.fields, error: messageOf(thrown) };
        logger.warn(fields, "cannot extend a claim");
        this.#scheduleHeartbeat();
      },
    );
  }

  /** Treats the claim as lost if it is not extended in time by our own clock (TW3). */
  #armDeadline(leftMs: number): void {
    this.#deadline?.cancel();
    const delayMs = Math.max(0, leftMs * leaseShare);
    this.#deadline = this.#options.clock.after(delayMs, () =>
      this.lose("because it could not be extended in time"),
    );
  }
}

/** Turns a synchronous throw of `begin` into a rejection. */
export function attempt<T>(begin: () => Promise<T>): Promise<T> {
  try {
    return begin();
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}
