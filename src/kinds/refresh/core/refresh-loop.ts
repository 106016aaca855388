/**
 * The worker's loop: takes claims while it has free slots, computes, keeps the claims alive,
 * publishes. It takes subtasks of split refreshes, its own or others', before anything else. It
 * polls every `pollMs` with jitter, so that a lost poke costs only a short delay. `RefreshRun` and
 * `runPart` handle every outcome except an `AssertionError`, which is our bug and ends the process.
 * Rules: TW1 to TW8.
 *
 * All time and randomness come from the given clock and generator.
 */

import type { Clock } from "../../../ground/kernel/clock.ts";
import { assert } from "../../../ground/kernel/errors.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import type { Prng } from "../../../ground/kernel/prng.ts";
import { Loop } from "../../../ground/reconcile/core/index.ts";
import { attempt, type KeptClaim } from "./claim-keeper.ts";
import { ClaimedWork, stopping } from "./claimed-work.ts";
import type { ClaimAnswer, ClaimedRefresh, RefreshClaims, Refresher } from "./refresh-claims.ts";
import type { ClaimedSubtask } from "./refresh-subtasks.ts";
import { type PartPorts, runPart } from "./run-part.ts";
import { RefreshRun } from "./run-refresh.ts";

export interface RefreshLoopOptions {
  readonly workerId: string;
  readonly claims: RefreshClaims;
  readonly refresher: Refresher;
  /** When absent, this worker splits no refresh and takes no subtask. */
  readonly parts?: PartPorts;
  /** Usually `store.onPoke`. */
  readonly onPoke: (listener: () => void) => () => void;
  /**
   * Whether this worker can compute refreshes at the moment; always, when absent. Whoever changes
   * it pokes.
   */
  readonly isAble?: () => boolean;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
  readonly slots?: number;
  readonly pollMs?: number;
  readonly heartbeatMs?: number;
}

export class RefreshLoop {
  readonly #options: RefreshLoopOptions;
  readonly #slots: number;
  readonly #pollMs: number;
  readonly #heartbeatMs: number;
  readonly #running = new Set<ClaimedWork>();
  #state: "new" | "started" | "draining" | "stopped" = "new";
  #unsubscribe: (() => void) | undefined;
  readonly #loop: Loop;
  #asking: Promise<unknown> = Promise.resolve();

  constructor(options: RefreshLoopOptions) {
    this.#options = options;
    this.#slots = options.slots ?? 1;
    this.#pollMs = options.pollMs ?? 2_000;
    this.#heartbeatMs = options.heartbeatMs ?? 30_000;
    assert(this.#slots > 0, "a refresh loop runs something");
    const { clock, prng, logger, workerId } = options;
    this.#loop = new Loop({
      clock,
      prng,
      logger: logger.with({ worker_id: workerId }),
      turn: () => {
        const asking = this.#ask();
        this.#asking = asking.catch(() => undefined);
        return asking;
      },
      everyMs: this.#pollMs,
      backoff: { minMs: this.#pollMs / 10, maxMs: this.#pollMs },
      trouble: "cannot ask for refreshes",
    });
  }

  /** Refreshes that this worker holds. */
  get running(): readonly ClaimedRefresh[] {
    return [...this.#running].flatMap(({ claim }) => claim ?? []);
  }

  start(): void {
    assert(this.#state === "new", "a refresh loop is started once");
    this.#state = "started";
    this.#unsubscribe = this.#options.onPoke(() => this.#poked());
    this.#loop.start();
  }

  /** Takes only parts of what it leads, and resolves when all work has ended. Idempotent. */
  drain(): Promise<void> {
    if (this.#state !== "stopped") this.#state = "draining";
    return this.#ended();
  }

  /** Aborts everything under way and gives it back. Idempotent. */
  stop(): Promise<void> {
    this.#state = "stopped";
    for (const { keeper } of this.#running) keeper.abort(stopping);
    return this.#ended();
  }

  /** An earlier request may still be granted. What it grants is run, or given back. */
  #ended(): Promise<void> {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    return this.#asking
      .then(() => Promise.all([...this.#running].map(({ done }) => done)))
      .then(() => (this.#running.size === 0 ? this.#loop.stop() : this.#ended()));
  }

  #poked(): void {
    for (const work of this.#running) work.wake();
    this.#loop.poke();
  }

  /** How much more it can take. A lead that waits for its parts leaves its slot to subtasks. */
  #room(): { readonly refreshes: number; readonly parts: number } {
    const waiting = [...this.#running].filter(({ isWaiting }) => isWaiting).length;
    const isOpen = this.#state === "started";
    const takesParts = this.#options.parts !== undefined && (isOpen || waiting > 0);
    const free = Math.max(0, this.#slots - this.#running.size);
    return {
      refreshes: isOpen ? free : 0,
      parts: takesParts ? Math.max(0, this.#slots - this.#running.size + waiting) : 0,
    };
  }

  /** Jitter only adds time: nothing is asked for before it can be claimed. */
  #ask(): Promise<{ readonly requeueAfterMs: number }> {
    const again = (ms: number) => ({ requeueAfterMs: this.#jittered(ms) });
    const room = this.#room();
    const isAble = this.#options.isAble?.() ?? true; // TW8
    if (this.#state === "stopped" || room.refreshes + room.parts === 0 || !isAble) {
      return Promise.resolve(again(this.#pollMs));
    }
    const { claims, workerId, parts } = this.#options;
    const of = this.#state === "draining" ? "own" : "any";
    const request = {
      workerId,
      limit: room.refreshes,
      ...(parts === undefined || room.parts === 0
        ? {}
        : { subtasks: { ability: parts.runner.ability, limit: room.parts, of } as const }),
    };
    return attempt(() => claims.claim(request)).then((answer) => again(this.#answered(answer)));
  }

  /** The time to wait before asking again, in milliseconds. */
  #answered({ claimed, subtasks = [], waitMs }: ClaimAnswer): number {
    for (const subtask of subtasks) this.#runPart(subtask);
    for (const claim of claimed) this.#run(claim);
    return claimed.length + subtasks.length > 0
      ? 0
      : Math.min(waitMs ?? this.#pollMs, this.#pollMs);
  }

  #jittered(ms: number): number {
    return ms * (1 + this.#options.prng.next() / 2);
  }

  #run(claim: ClaimedRefresh): void {
    const { claims, refresher, parts, logger } = this.#options;
    const { leaseMs, workerId, token } = claim;
    const work = this.#begin(claim, {
      leaseMs,
      heartbeat: () => claims.heartbeat(claim),
      fields: { worker_id: workerId, dynamic_table: claim.table.name, token },
    });
    const run = new RefreshRun(work, claim, {
      claims,
      refresher,
      logger,
      ...(parts === undefined ? {} : { parts }),
      askForParts: () => this.#loop.poke(),
      lookAfterMs: () => this.#jittered(this.#pollMs),
    });
    void run.run().then(() => this.#finish(work));
  }

  #runPart(subtask: ClaimedSubtask): void {
    const { parts } = this.#options;
    assert(parts !== undefined, "subtasks come to those who ask");
    const { leaseMs, workerId, token, part } = subtask;
    const work = this.#begin(undefined, {
      leaseMs,
      heartbeat: () => parts.claims.heartbeat(subtask),
      fields: { worker_id: workerId, dynamic_table: subtask.refresh.table.name, token, part },
    });
    void runPart(work, subtask, parts).then(() => this.#finish(work));
  }

  #begin(claim: ClaimedRefresh | undefined, kept: KeptClaim): ClaimedWork {
    const { clock, logger } = this.#options;
    const work = new ClaimedWork(claim, kept, { clock, logger, heartbeatMs: this.#heartbeatMs });
    this.#running.add(work);
    if (this.#state === "stopped") work.keeper.abort(stopping);
    return work;
  }

  #finish(work: ClaimedWork): void {
    work.end();
    this.#running.delete(work);
    this.#poked(); // A lead may wait for this result.
  }
}
