/** A refresh, or a part of one, that is being computed under a claim. */
import { sleep } from "../../../ground/kernel/clock.ts";
import { messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import { attempt, ClaimKeeper, type ClaimKeeperOptions, type KeptClaim } from "./claim-keeper.ts";
import { rethrowBug } from "./failure-of.ts";
import type { ClaimedRefresh } from "./refresh-claims.ts";

const storePauseMs = 200;

export const stopping: OperatingError = new OperatingError(
  "shutting_down",
  "backoff",
  "the worker stops",
);

export class ClaimedWork {
  /** Undefined for a part of a refresh. */
  readonly claim: ClaimedRefresh | undefined;
  readonly keeper: ClaimKeeper;
  readonly done: Promise<void>;
  /** It leads a refresh in parts and computes nothing itself. */
  isWaiting = false;
  readonly #options: ClaimKeeperOptions;
  #settle: () => void = () => undefined;
  /** Whether it was woken since its last look. */
  #isWoken = false;
  #wakeUp: () => void = () => undefined;

  constructor(claim: ClaimedRefresh | undefined, kept: KeptClaim, options: ClaimKeeperOptions) {
    this.claim = claim;
    this.keeper = new ClaimKeeper(kept, options);
    this.#options = options;
    this.done = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  get signal(): AbortSignal {
    return this.keeper.signal;
  }

  end(): void {
    this.keeper.end();
    this.#settle();
  }

  wake(): void {
    this.#isWoken = true;
    this.#wakeUp();
  }

  /** Calls of `wake` after this point end the next `untilWoken`. */
  beginLook(): void {
    this.#isWoken = false;
  }

  /** Waits until it is woken, `msMax` at most. Rejects when it is aborted. */
  untilWoken(msMax: number): Promise<void> {
    if (this.#isWoken) return Promise.resolve();
    const woken = new AbortController();
    this.#wakeUp = () => woken.abort();
    const either = AbortSignal.any([woken.signal, this.signal]);
    return sleep(this.#options.clock, msMax, either).then(() => this.signal.throwIfAborted());
  }

  /** Repeats `ask` while the store is busy or unavailable, until the claim is lost. */
  insist<T>(ask: () => Promise<T>): Promise<T> {
    const { clock, logger } = this.#options;
    return attempt(ask).catch((thrown: unknown) => {
      if (!isStoreTrouble(thrown)) throw thrown;
      const fields = { ...this.keeper.fields, error: messageOf(thrown) };
      logger.warn(fields, "the store cannot be told yet");
      return sleep(clock, storePauseMs, this.signal).then(() => {
        this.signal.throwIfAborted();
        return this.insist(ask);
      });
    });
  }

  /**
   * Reports work without a result: released if we stop, failed otherwise, unless the claim is lost.
   */
  undone(
    thrown: unknown,
    what: string,
    tell: { release(): Promise<boolean>; fail(): Promise<boolean> },
  ): Promise<void> {
    rethrowBug(thrown);
    if (this.keeper.isLost) return Promise.resolve();
    const { logger } = this.#options;
    const { fields } = this.keeper;
    const isStopped = this.signal.aborted;
    if (!isStopped) logger.warn({ ...fields, error: messageOf(thrown) }, what);
    return attempt(() => (isStopped ? tell.release() : tell.fail())).then(
      () => undefined,
      (trouble: unknown) => {
        rethrowBug(trouble);
        // The claim expires by itself.
        logger.warn({ ...fields, error: messageOf(trouble) }, "cannot say how a refresh ended");
      },
    );
  }
}

function isStoreTrouble(thrown: unknown): boolean {
  const codes = ["store_busy", "store_unavailable", "commit_unknown"];
  return thrown instanceof OperatingError && codes.includes(thrown.code);
}
