/**
 * The worker's side: takes claims while it has room, computes, keeps the claims alive, publishes. Of refreshes that were split, its own
 * or others', it takes subtasks in the same way, and before anything else.
 *
 *   RL1  It asks for work when it is poked, when something of its has ended, and every now and then (`pollMs`, with jitter), so that
 *        a poke that was lost costs a moment and no more. A poke while it asks makes it ask again.
 *   RL2  It computes at most `slots` refreshes and subtasks at a time. A lead that waits for its parts keeps its slot for subtasks.
 *   RL3  A refresh whose claim is lost (`ClaimKeeper`) is aborted at once, and publishes nothing.
 *   RL4  What becomes of a refresh is `RefreshRun`'s affair, and of a part `runPart`'s: neither ends the loop, whatever happens.
 *   RL5  `drain` takes no more work, but the parts of what it leads, and resolves when what runs has ended. `stop` aborts that and
 *        gives it back.
 *   RL6  An `AssertionError` is our bug and ends the process.
 *   RL7  While it is not able to compute refreshes it asks for nothing, parts of its own included. It
 *        looks again with every poke and every poll.
 *
 * Everything takes its time and chance from the clock and generator that it is given.
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
  /** Without it nothing is split here, and nobody else's parts are taken. */
  readonly parts?: PartPorts;
  /** Usually `store.onPoke`. */
  readonly onPoke: (listener: () => void) => () => void;
  /**
   * Whether refreshes can be computed here at the moment; always, unless given. Whoever knows that
   * it has changed pokes.
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

  /** Tables that are being refreshed here. */
  get running(): readonly ClaimedRefresh[] {
    return [...this.#running].flatMap(({ claim }) => claim ?? []);
  }

  start(): void {
    assert(this.#state === "new", "a refresh loop is started once");
    this.#state = "started";
    this.#unsubscribe = this.#options.onPoke(() => this.#poked());
    this.#loop.start();
  }

  /** Takes no more work; resolves when what runs has ended. Idempotent. */
  drain(): Promise<void> {
    if (this.#state !== "stopped") this.#state = "draining";
    return this.#ended();
  }

  /** Aborts what runs and gives it back. Idempotent. */
  stop(): Promise<void> {
    this.#state = "stopped";
    for (const { keeper } of this.#running) keeper.abort(stopping);
    return this.#ended();
  }

  /** What was asked for before may still be granted: it is run, or given back. */
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

  /** RL2, RL5: so many refreshes and so many subtasks there is room for. */
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

  /** RL1. Jitter only ever adds: what cannot be claimed before its time is not asked for before its time. */
  #ask(): Promise<{ readonly requeueAfterMs: number }> {
    const again = (ms: number) => ({ requeueAfterMs: this.#jittered(ms) });
    const room = this.#room();
    const isAble = this.#options.isAble?.() ?? true; // RL7
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

  /** How long it is of no use to ask again. */
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
    this.#poked(); // What a lead waits for may be this.
  }
}
