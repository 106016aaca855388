/**
 * Keeps one claim alive while something is computed under it.
 *
 *   KC1  Lost is what the store says, and also a claim that could not be extended for as long as its lease by our own clock: then
 *        nobody can say, and somebody else may have it. What is computed is aborted at once.
 */
import type { Clock, Timer } from "../../../ground/kernel/clock.ts";
import { AssertionError, messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";

export interface KeptClaim {
  readonly leaseMs: number;
  /** `false`: the claim is lost. */
  heartbeat(): Promise<boolean>;
  /** For log lines. */
  readonly fields: Readonly<Record<string, string | number>>;
}

export interface ClaimKeeperOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly heartbeatMs: number;
}

/** Our clock may run slow against the database's. */
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
  /** When nobody can tell any more whose the claim is. */
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

  /** The claim is somebody else's, or nobody's. */
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

  /** No more heartbeats. */
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

  /** KC1 */
  #armDeadline(leftMs: number): void {
    this.#deadline?.cancel();
    const delayMs = Math.max(0, leftMs * leaseShare);
    this.#deadline = this.#options.clock.after(delayMs, () =>
      this.lose("because it could not be extended in time"),
    );
  }
}

/** What throws before it has a promise has failed, too. */
export function attempt<T>(begin: () => Promise<T>): Promise<T> {
  try {
    return begin();
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}
