/**
 * Runs one refresh, from its claim to its publication. Its files are discarded only while it is
 * certain that they were not published. Rules: TW4, TW6, TW7; TP5, TP7 and TP8 for a split refresh.
 */
import { assert, type OperatingError } from "../../../ground/kernel/errors.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import { attempt, claimLost } from "./claim-keeper.ts";
import { type ClaimedWork, stopping } from "./claimed-work.ts";
import { failureOf, isConflict, PartFailed, rethrowBug } from "./failure-of.ts";
import type {
  ClaimedRefresh,
  RefreshClaims,
  RefreshedData,
  Refresher,
  RefreshResult,
} from "./refresh-claims.ts";
import type { RefreshSplit } from "./refresh-subtasks.ts";
import type { PartPorts } from "./run-part.ts";

export interface RefreshPorts {
  readonly claims: RefreshClaims;
  readonly refresher: Refresher;
  readonly parts?: PartPorts;
  readonly logger: Logger;
  /** Tells the loop that there are parts to claim. */
  askForParts(): void;
  /** How long to wait before the parts are looked at again, unless a poke comes first. */
  lookAfterMs(): number;
}

const conflictsMax = 5;

export class RefreshRun {
  readonly #work: ClaimedWork;
  readonly #claim: ClaimedRefresh;
  readonly #ports: RefreshPorts;
  /** Whether the result may have been published, which only the store knows. */
  #isTried = false;
  #conflicts = 0;

  constructor(work: ClaimedWork, claim: ClaimedRefresh, ports: RefreshPorts) {
    this.#work = work;
    this.#claim = claim;
    this.#ports = ports;
  }

  /** Rejects only for our own bugs. */
  run(): Promise<void> {
    const { signal } = this.#work;
    return attempt(() => {
      signal.throwIfAborted();
      return this.#ports.refresher.refresh(this.#claim, this.#claim.table, signal);
    })
      .then((result) => (result.action === "SPLIT" ? this.#lead(result) : result))
      .then(
        (result) => this.#publish(result),
        (thrown: unknown) => this.#failed(thrown),
      );
  }

  #publish(result: RefreshResult): Promise<void> {
    if (this.#work.signal.aborted) return this.#abandoned(result);
    this.#isTried = true;
    return this.#work
      .insist(() => this.#ports.claims.publish(this.#claim, result))
      .then(
        (outcome) => {
          if (outcome.kind === "claim_lost") this.#work.keeper.lose("when it was to be published");
        },
        (thrown: unknown) => {
          rethrowBug(thrown);
          if (!isConflict(thrown) || result.action === "NO_DATA") return this.#failed(thrown);
          this.#isTried = false; // The store refused it for certain.
          this.#conflicts += 1;
          return this.#conflicts > conflictsMax
            ? discarded(result).then(() => this.#failed(thrown))
            : this.#again(result, thrown);
        },
      );
  }

  /** Rebases or computes again after a conflict (TW7). */
  #again(result: RefreshedData, why: OperatingError): Promise<void> {
    const { rebase } = result;
    this.#ports.logger.info(
      { ...this.#work.keeper.fields, error: why.message },
      "a refresh met another commit",
    );
    if (rebase === undefined) return discarded(result).then(() => this.run());
    return attempt(rebase).then(
      (rebased) => this.#publish(rebased),
      (thrown: unknown) => this.#failed(thrown),
    );
  }

  /** Discards the files, unless they may have been published. */
  #abandoned(result: RefreshResult): Promise<void> {
    const given = this.#isTried ? Promise.resolve() : discarded(result);
    return given.then(() => this.#failed(stopping));
  }

  #failed(thrown: unknown): Promise<void> {
    const { claims } = this.#ports;
    return this.#work.undone(thrown, "a refresh failed", {
      release: () => claims.release(this.#claim, "the worker stops"),
      fail: () => claims.fail(this.#claim, failureOf(thrown)),
    });
  }

  /** Splits the refresh and waits until all parts are done (TP5). */
  #lead(split: RefreshSplit): Promise<RefreshedData> {
    const { parts } = this.#ports;
    assert(parts !== undefined, "only who takes parts splits a refresh");
    return this.#work
      .insist(() => parts.claims.split(this.#claim, split))
      .then((isHeld) => {
        if (!isHeld) throw this.#lost("when it was to be split");
        this.#work.isWaiting = true;
        return this.#awaitParts(split, parts).finally(() => {
          this.#work.isWaiting = false;
        });
      });
  }

  #awaitParts(split: RefreshSplit, parts: PartPorts): Promise<RefreshedData> {
    this.#ports.askForParts(); // If no other worker takes them, this one does.
    this.#work.beginLook();
    return this.#work
      .insist(() => parts.claims.progress(this.#claim))
      .then((progress) => {
        switch (progress.kind) {
          case "done":
            return split.merge(progress.results);
          case "failed":
            return split.discard(progress.results).then(() => {
              throw new PartFailed(progress.failure);
            });
          case "claim_lost":
            throw this.#lost("while its parts were computed");
          case "running":
            return this.#work
              .untilWoken(this.#ports.lookAfterMs())
              .then(() => this.#awaitParts(split, parts));
        }
      });
  }

  #lost(when: string): OperatingError {
    this.#work.keeper.lose(when);
    return claimLost;
  }
}

function discarded(result: RefreshResult): Promise<void> {
  const discard = result.action === "NO_DATA" ? undefined : result.discard;
  return discard === undefined ? Promise.resolve() : attempt(discard);
}
