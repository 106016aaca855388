/** Something that is being computed under a claim: a refresh, or a part of one. */
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
  /** `undefined`: a part. */
  readonly claim: ClaimedRefresh | undefined;
  readonly keeper: ClaimKeeper;
  readonly done: Promise<void>;
  /** It leads others, and computes nothing itself. */
  isWaiting = false;
  readonly #options: ClaimKeeperOptions;
  #settle: () => void = () => undefined;
  /** Something has changed since it last looked. */
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

  /** From here on, whoever wakes it is heard. */
  beginLook(): void {
    this.#isWoken = false;
  }

  /** Until it is woken, or so long. Rejects when it is aborted. */
  untilWoken(msMax: number): Promise<void> {
    if (this.#isWoken) return Promise.resolve();
    const woken = new AbortController();
    this.#wakeUp = () => woken.abort();
    const either = AbortSignal.any([woken.signal, this.signal]);
    return sleep(this.#options.clock, msMax, either).then(() => this.signal.throwIfAborted());
  }

  /** A store that is busy or away is asked again until the claim is lost: computing is dear. */
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

  /** Given back when we stop; a failure otherwise; nothing any more when the claim is lost. */
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
