/**
 * The worker's side: takes claims while it has room, computes, keeps the claims alive, publishes. Of refreshes that were split, its own
 * or others', it takes subtasks in the same way, and before anything else.
 *
 *   RL1  It asks for work when it is poked, when something of its has ended, and every now and then (`pollMs`, with jitter), so that
 *        a poke that was lost costs a moment and no more. A poke while it asks makes it ask again.
 *   RL2  It computes at most `slots` refreshes and subtasks at a time. A lead that waits for its parts keeps its slot for subtasks.
 *   RL3  A refresh whose claim is lost (`ClaimKeeper`) is aborted at once, and publishes nothing.
 *   RL4  A store that is busy or away while a result is published is asked again until the claim is lost: computing is dear.
 *   RL5  `drain` takes no more work, but the parts of what it leads, and resolves when what runs has ended. `stop` aborts that and
 *        gives it back.
 *   RL6  A refresh that throws is a failed attempt, and nothing worse. An `AssertionError` is our bug and ends the process.
 *   RL7  A result that a commit of somebody else's stands in the way of (`conflict`) is put upon that, or computed anew, at once and
 *        under the same claim, a few times.
 *
 * Everything takes its time and chance from the clock and generator that it is given.
 */
import { type Clock, sleep, type Timer } from "../../kernel/clock.ts";
import { assert, messageOf, OperatingError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Prng } from "../../kernel/prng.ts";
import { attempt, ClaimKeeper, claimLost } from "./claim-keeper.ts";
import { failureOf, PartFailed, rethrowBug } from "./failure-of.ts";
import type {
  ClaimAnswer,
  ClaimedRefresh,
  RefreshClaims,
  RefreshedData,
  Refresher,
  RefreshResult,
} from "./refresh-claims.ts";
import type {
  ClaimedSubtask,
  RefreshSplit,
  SubtaskClaims,
  SubtaskRunner,
} from "./refresh-subtasks.ts";

export interface RefreshLoopOptions {
  readonly workerId: string;
  readonly claims: RefreshClaims;
  readonly refresher: Refresher;
  /** Without it nothing is split here, and nobody else's parts are taken. */
  readonly parts?: { readonly claims: SubtaskClaims; readonly runner: SubtaskRunner };
  /** Usually `store.onPoke`. */
  readonly onPoke: (listener: () => void) => () => void;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
  readonly slots?: number;
  readonly pollMs?: number;
  readonly heartbeatMs?: number;
}

const storePauseMs = 200;
/** RL7 */
const conflictsMax = 5;

class Running {
  /** `undefined`: a subtask. */
  readonly claim: ClaimedRefresh | undefined;
  readonly keeper: ClaimKeeper;
  readonly done: Promise<void>;
  settle: () => void = () => undefined;
  /** It leads others, and computes nothing itself. */
  isWaiting = false;
  /** Something has changed since it last looked how far its parts are. */
  isWoken = false;
  wakeUp: () => void = () => undefined;
  /** Its result may have been published: nobody but the store knows. */
  isTried = false;
  conflicts = 0;

  constructor(claim: ClaimedRefresh | undefined, keeper: ClaimKeeper) {
    this.claim = claim;
    this.keeper = keeper;
    this.done = new Promise((resolve) => {
      this.settle = resolve;
    });
  }

  wake(): void {
    this.isWoken = true;
    this.wakeUp();
  }
}

export class RefreshLoop {
  readonly #options: RefreshLoopOptions;
  readonly #slots: number;
  readonly #pollMs: number;
  readonly #heartbeatMs: number;
  readonly #running = new Set<Running>();
  #state: "new" | "started" | "draining" | "stopped" = "new";
  #unsubscribe: (() => void) | undefined;
  #poll: Timer | undefined;
  #asking: Promise<void> | undefined;
  #askAgain = false;

  constructor(options: RefreshLoopOptions) {
    this.#options = options;
    this.#slots = options.slots ?? 1;
    this.#pollMs = options.pollMs ?? 2_000;
    this.#heartbeatMs = options.heartbeatMs ?? 30_000;
    assert(this.#slots > 0, "a refresh loop runs something");
  }

  /** Tables that are being refreshed here. */
  get running(): readonly ClaimedRefresh[] {
    return [...this.#running].flatMap(({ claim }) => claim ?? []);
  }

  start(): void {
    assert(this.#state === "new", "a refresh loop is started once");
    this.#state = "started";
    this.#unsubscribe = this.#options.onPoke(() => this.#poked());
    this.#ask();
  }

  /** Takes no more work; resolves when what runs has ended. Idempotent. */
  drain(): Promise<void> {
    if (this.#state !== "stopped") this.#state = "draining";
    this.#quiet();
    return this.#ended();
  }

  /** Aborts what runs and gives it back. Idempotent. */
  stop(): Promise<void> {
    this.#state = "stopped";
    this.#quiet();
    for (const { keeper } of this.#running) keeper.abort(stopping);
    return this.#ended();
  }

  #quiet(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    this.#poll?.cancel();
  }

  /** What was asked for before may still be granted: it is run, or given back. */
  #ended(): Promise<void> {
    const asked = this.#asking ?? Promise.resolve();
    return asked
      .then(() => Promise.all([...this.#running].map(({ done }) => done)))
      .then(() => (this.#running.size === 0 ? undefined : this.#ended()));
  }

  #poked(): void {
    for (const running of this.#running) running.wake();
    this.#ask();
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

  #ask(): void {
    if (this.#state !== "started" && this.#state !== "draining") return;
    if (this.#asking !== undefined) {
      this.#askAgain = true; // RL1
      return;
    }
    const room = this.#room();
    if (room.refreshes + room.parts === 0) return; // RL2: whoever ends asks.
    this.#poll?.cancel();
    this.#askAgain = false;
    const { claims, workerId, logger, parts } = this.#options;
    const of = this.#state === "draining" ? "own" : "any";
    const request = {
      workerId,
      limit: room.refreshes,
      ...(parts === undefined || room.parts === 0
        ? {}
        : { subtasks: { ability: parts.runner.ability, limit: room.parts, of } as const }),
    };
    this.#asking = attempt(() => claims.claim(request)).then(
      (answer) => this.#answered(answer),
      (thrown: unknown) => {
        rethrowBug(thrown);
        logger.warn({ worker_id: workerId, error: messageOf(thrown) }, "cannot ask for refreshes");
        this.#asked(this.#pollMs);
      },
    );
  }

  #answered({ claimed, subtasks = [], waitMs }: ClaimAnswer): void {
    for (const subtask of subtasks) this.#runPart(subtask);
    for (const claim of claimed) this.#run(claim);
    const room = this.#room();
    if (room.refreshes + room.parts === 0) this.#asked(this.#pollMs);
    else if (claimed.length + subtasks.length > 0) this.#asked(0);
    else this.#asked(Math.min(waitMs ?? this.#pollMs, this.#pollMs));
  }

  #asked(againMs: number): void {
    this.#asking = undefined;
    if (this.#askAgain) {
      this.#ask();
      return;
    }
    if (this.#state !== "started") return;
    // Jitter only ever adds: what cannot be claimed before its time is not asked for before its time.
    this.#poll = this.#options.clock.after(this.#jittered(againMs), () => this.#ask());
  }

  #jittered(ms: number): number {
    return ms * (1 + this.#options.prng.next() / 2);
  }

  #begin(
    claim: ClaimedRefresh | undefined,
    kept: ConstructorParameters<typeof ClaimKeeper>[0],
  ): Running {
    const { clock, logger } = this.#options;
    const keeper = new ClaimKeeper(kept, { clock, logger, heartbeatMs: this.#heartbeatMs });
    const running = new Running(claim, keeper);
    this.#running.add(running);
    if (this.#state === "stopped") keeper.abort(stopping);
    return running;
  }

  #finish(running: Running): void {
    running.keeper.end();
    this.#running.delete(running);
    running.settle();
    this.#poked(); // What a lead waits for may be this.
  }

  #run(claim: ClaimedRefresh): void {
    const { claims } = this.#options;
    const { leaseMs, workerId, token } = claim;
    const running = this.#begin(claim, {
      leaseMs,
      heartbeat: () => claims.heartbeat(claim),
      fields: { worker_id: workerId, dynamic_table: claim.table.name, token },
    });
    void this.#compute(running, claim).then(() => this.#finish(running));
  }

  #compute(running: Running, claim: ClaimedRefresh): Promise<void> {
    const { signal } = running.keeper;
    return attempt(() => {
      signal.throwIfAborted();
      return this.#options.refresher.refresh(claim, claim.table, signal);
    })
      .then((result) => (result.action === "SPLIT" ? this.#lead(running, claim, result) : result))
      .then(
        (result) => this.#publish(running, claim, result),
        (thrown: unknown) => this.#failed(running, claim, thrown),
      );
  }

  #publish(running: Running, claim: ClaimedRefresh, result: RefreshResult): Promise<void> {
    const { keeper } = running;
    if (keeper.signal.aborted) return this.#abandoned(running, claim, result);
    running.isTried = true;
    return this.#insist(running, () => this.#options.claims.publish(claim, result)).then(
      (outcome) => {
        if (outcome.kind === "claim_lost") keeper.lose("when it was to be published");
      },
      (thrown: unknown) => {
        rethrowBug(thrown);
        if (!isConflict(thrown) || result.action === "NO_DATA") {
          return this.#failed(running, claim, thrown);
        }
        running.isTried = false; // It was refused, for certain.
        running.conflicts += 1;
        if (running.conflicts > conflictsMax) return this.#failed(running, claim, thrown);
        return this.#again(running, claim, result, thrown);
      },
    );
  }

  /** RL7 */
  #again(
    running: Running,
    claim: ClaimedRefresh,
    { rebase, discard }: RefreshedData,
    why: OperatingError,
  ): Promise<void> {
    this.#options.logger.info({ ...running.keeper.fields, error: why.message }, "published anew");
    if (rebase === undefined) {
      return attempt(() => discard?.() ?? Promise.resolve()).then(() =>
        this.#compute(running, claim),
      );
    }
    return attempt(rebase).then(
      (result) => this.#publish(running, claim, result),
      (thrown: unknown) => this.#failed(running, claim, thrown),
    );
  }

  #abandoned(running: Running, claim: ClaimedRefresh, result: RefreshResult): Promise<void> {
    const discard = result.action === "NO_DATA" || running.isTried ? undefined : result.discard;
    return attempt(() => discard?.() ?? Promise.resolve()).then(() =>
      this.#failed(running, claim, stopping),
    );
  }

  #failed(running: Running, claim: ClaimedRefresh, thrown: unknown): Promise<void> {
    const { claims } = this.#options;
    return this.#undone(running, thrown, "a refresh failed", {
      release: () => claims.release(claim, "the worker stops"),
      fail: () => claims.fail(claim, failureOf(thrown)),
    });
  }

  /** Given back when we stop; a failure otherwise. */
  #undone(
    { keeper }: Running,
    thrown: unknown,
    what: string,
    tell: { release(): Promise<boolean>; fail(): Promise<boolean> },
  ): Promise<void> {
    rethrowBug(thrown);
    if (keeper.isLost) return Promise.resolve();
    const { logger } = this.#options;
    const isStopped = keeper.signal.aborted;
    if (!isStopped) logger.warn({ ...keeper.fields, error: messageOf(thrown) }, what);
    return attempt(() => (isStopped ? tell.release() : tell.fail())).then(
      () => undefined,
      (trouble: unknown) => {
        rethrowBug(trouble);
        // The claim expires by itself.
        const fields = { ...keeper.fields, error: messageOf(trouble) };
        logger.warn(fields, "cannot say how a refresh ended");
      },
    );
  }

  #lead(running: Running, claim: ClaimedRefresh, split: RefreshSplit): Promise<RefreshedData> {
    const { parts } = this.#options;
    assert(parts !== undefined, "only who takes parts splits a refresh");
    return this.#insist(running, () => parts.claims.split(claim, split)).then((isHeld) => {
      if (!isHeld) throw this.#lost(running, "when it was to be split");
      running.isWaiting = true;
      return this.#awaitParts(running, claim, split, parts.claims).finally(() => {
        running.isWaiting = false;
      });
    });
  }

  #awaitParts(
    running: Running,
    claim: ClaimedRefresh,
    split: RefreshSplit,
    claims: SubtaskClaims,
  ): Promise<RefreshedData> {
    this.#ask(); // With nobody else around, the parts are ours.
    running.isWoken = false;
    return this.#insist(running, () => claims.progress(claim)).then((progress) => {
      switch (progress.kind) {
        case "done":
          return split.merge(progress.results);
        case "failed":
          return split.discard(progress.results).then(() => {
            throw new PartFailed(progress.failure);
          });
        case "claim_lost":
          throw this.#lost(running, "while its parts were computed");
        case "running":
          return this.#untilWoken(running).then(() =>
            this.#awaitParts(running, claim, split, claims),
          );
      }
    });
  }

  #lost({ keeper }: Running, when: string): OperatingError {
    keeper.lose(when);
    return claimLost;
  }

  #untilWoken(running: Running): Promise<void> {
    if (running.isWoken) return Promise.resolve();
    const woken = new AbortController();
    running.wakeUp = () => woken.abort();
    const { signal } = running.keeper;
    const either = AbortSignal.any([woken.signal, signal]);
    return sleep(this.#options.clock, this.#jittered(this.#pollMs), either).then(() =>
      signal.throwIfAborted(),
    );
  }

  #runPart(subtask: ClaimedSubtask): void {
    const { parts } = this.#options;
    assert(parts !== undefined, "subtasks come to those who ask");
    const { claims, runner } = parts;
    const { workerId, token, part } = subtask;
    const running = this.#begin(undefined, {
      leaseMs: subtask.leaseMs,
      heartbeat: () => claims.heartbeat(subtask),
      fields: { worker_id: workerId, dynamic_table: subtask.refresh.table.name, token, part },
    });
    const { signal } = running.keeper;
    void attempt(() => {
      signal.throwIfAborted();
      return runner.run(subtask, signal);
    })
      .then((result) => {
        signal.throwIfAborted();
        return this.#insist(running, () => claims.finish(subtask, result));
      })
      .then(
        (isTaken) => {
          if (!isTaken) running.keeper.lose("when its part was done");
        },
        (thrown: unknown) =>
          this.#undone(running, thrown, "a part of a refresh failed", {
            release: () => claims.release(subtask),
            fail: () => claims.fail(subtask, failureOf(thrown)),
          }),
      )
      .then(() => this.#finish(running));
  }

  /** RL4 */
  #insist<T>(running: Running, ask: () => Promise<T>): Promise<T> {
    const { clock, logger } = this.#options;
    const { keeper } = running;
    return attempt(ask).catch((thrown: unknown) => {
      if (!isStoreTrouble(thrown)) throw thrown;
      const fields = { ...keeper.fields, error: messageOf(thrown) };
      logger.warn(fields, "the store cannot be told yet");
      return sleep(clock, storePauseMs, keeper.signal).then(() => {
        keeper.signal.throwIfAborted();
        return this.#insist(running, ask);
      });
    });
  }
}

const stopping = new OperatingError("shutting_down", "backoff", "the worker stops");

function isStoreTrouble(thrown: unknown): boolean {
  const codes = ["store_busy", "store_unavailable", "commit_unknown"];
  return thrown instanceof OperatingError && codes.includes(thrown.code);
}

function isConflict(thrown: unknown): thrown is OperatingError {
  return thrown instanceof OperatingError && thrown.code === "conflict";
}
