/**
 * The worker's side: takes claims while it has room, computes, keeps the claims alive, publishes.
 *
 *   RL1  It asks for work when it is poked, when one of its refreshes has ended, and every now and then (`pollMs`, with jitter), so that
 *        a poke that was lost costs a moment and no more. A poke while it asks makes it ask again.
 *   RL2  At most `slots` refreshes at a time.
 *   RL3  A refresh whose claim is lost is aborted at once, and publishes nothing. Lost is what the store says, and also a claim that
 *        could not be extended for as long as its lease by our own clock: then nobody can say, and somebody else may have it.
 *   RL4  A store that is busy or away while a result is published is asked again until the claim is lost: computing is dear.
 *   RL5  `drain` takes no more work and resolves when what runs has ended. `stop` aborts that and gives it back.
 *   RL6  A refresh that throws is a failed attempt, and nothing worse. An `AssertionError` is our bug and ends the process.
 *
 * Everything takes its time and chance from the clock and generator that it is given.
 */
import { type Clock, sleep, type Timer } from "../../kernel/clock.ts";
import { AssertionError, assert, messageOf, OperatingError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Prng } from "../../kernel/prng.ts";
import type {
  ClaimAnswer,
  ClaimedRefresh,
  RefreshClaims,
  Refresher,
  RefreshFailure,
  RefreshResult,
} from "./refresh-claims.ts";

export interface RefreshLoopOptions {
  readonly workerId: string;
  readonly claims: RefreshClaims;
  readonly refresher: Refresher;
  /** Usually `store.onPoke`. */
  readonly onPoke: (listener: () => void) => () => void;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
  readonly slots?: number;
  readonly pollMs?: number;
  readonly heartbeatMs?: number;
}

/** Our clock may run slow against the database's. */
const leaseShare = 0.98;
const publishPauseMs = 200;

class Running {
  readonly claim: ClaimedRefresh;
  readonly abort = new AbortController();
  readonly done: Promise<void>;
  heartbeat: Timer | undefined;
  /** When nobody can tell any more whose the claim is. */
  deadline: Timer | undefined;
  /** The claim is somebody else's, or nobody's. */
  isLost = false;
  settle: () => void = () => undefined;

  constructor(claim: ClaimedRefresh) {
    this.claim = claim;
    this.done = new Promise((resolve) => {
      this.settle = resolve;
    });
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
    return [...this.#running].map(({ claim }) => claim);
  }

  start(): void {
    assert(this.#state === "new", "a refresh loop is started once");
    this.#state = "started";
    this.#unsubscribe = this.#options.onPoke(() => this.#ask());
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
    for (const { abort } of this.#running) abort.abort(stopping);
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
      .then(() => undefined);
  }

  #ask(): void {
    if (this.#state !== "started") return;
    if (this.#asking !== undefined) {
      this.#askAgain = true; // RL1
      return;
    }
    const limit = this.#slots - this.#running.size;
    if (limit <= 0) return; // RL2: whoever ends asks.
    this.#poll?.cancel();
    this.#askAgain = false;
    const { claims, workerId, logger } = this.#options;
    this.#asking = attempt(() => claims.claim({ workerId, limit })).then(
      (answer) => this.#answered(answer, limit),
      (thrown: unknown) => {
        rethrowBug(thrown);
        logger.warn({ worker_id: workerId, error: messageOf(thrown) }, "cannot ask for refreshes");
        this.#asked(this.#pollMs);
      },
    );
  }

  #answered({ claimed, waitMs }: ClaimAnswer, limit: number): void {
    for (const claim of claimed) this.#run(claim);
    if (claimed.length === limit) this.#asked(this.#pollMs);
    else if (claimed.length > 0) this.#asked(0);
    else this.#asked(Math.min(waitMs ?? this.#pollMs, this.#pollMs));
  }

  #asked(againMs: number): void {
    this.#asking = undefined;
    if (this.#state !== "started") return;
    if (this.#askAgain) {
      this.#ask();
      return;
    }
    // Jitter only ever adds: what cannot be claimed before its time is not asked for before its time.
    const delayMs = againMs * (1 + this.#options.prng.next() / 2);
    this.#poll = this.#options.clock.after(delayMs, () => this.#ask());
  }

  #run(claim: ClaimedRefresh): void {
    const running = new Running(claim);
    this.#running.add(running);
    this.#armDeadline(running, claim.leaseMs);
    this.#scheduleHeartbeat(running);
    const { refresher } = this.#options;
    const { signal } = running.abort;
    if (this.#state === "stopped") running.abort.abort(stopping);
    void attempt(() => {
      signal.throwIfAborted();
      return refresher.refresh(claim, claim.table, signal);
    })
      .then(
        (result) => this.#publish(running, result),
        (thrown: unknown) => this.#failed(running, thrown),
      )
      .then(() => this.#finish(running));
  }

  #finish(running: Running): void {
    running.heartbeat?.cancel();
    running.deadline?.cancel();
    this.#running.delete(running);
    running.settle();
    this.#ask();
  }

  /** RL4. */
  #publish(running: Running, result: RefreshResult): Promise<void> {
    const { claims, clock, logger } = this.#options;
    if (running.isLost) return Promise.resolve();
    if (running.abort.signal.aborted) return this.#failed(running, stopping);
    return attempt(() => claims.publish(running.claim, result)).then(
      (outcome) => {
        if (outcome.kind === "claim_lost") this.#lose(running, "when it was to be published");
      },
      (thrown: unknown) => {
        rethrowBug(thrown);
        if (!isStoreTrouble(thrown)) return this.#failed(running, thrown);
        logger.warn(fields(running, thrown), "a refresh cannot be published yet");
        return sleep(clock, publishPauseMs, running.abort.signal).then(() =>
          this.#publish(running, result),
        );
      },
    );
  }

  #failed(running: Running, thrown: unknown): Promise<void> {
    rethrowBug(thrown);
    if (running.isLost) return Promise.resolve();
    const { claims, logger } = this.#options;
    const isStopped = running.abort.signal.aborted;
    const ended = isStopped
      ? attempt(() => claims.release(running.claim, "the worker stops"))
      : attempt(() => claims.fail(running.claim, failureOf(thrown)));
    if (!isStopped) logger.warn(fields(running, thrown), "a refresh failed");
    return ended.then(
      () => undefined,
      (trouble: unknown) => {
        rethrowBug(trouble);
        // The claim expires by itself.
        logger.warn(fields(running, trouble), "cannot say how a refresh ended");
      },
    );
  }

  #scheduleHeartbeat(running: Running): void {
    running.heartbeat = this.#options.clock.after(this.#heartbeatMs, () => this.#beat(running));
  }

  #beat(running: Running): void {
    const { claims, clock, logger } = this.#options;
    const sentMs = clock.nowMs();
    void attempt(() => claims.heartbeat(running.claim)).then(
      (isHeld) => {
        if (!this.#running.has(running)) return;
        if (!isHeld) {
          this.#lose(running, "when it was to be extended");
          return;
        }
        this.#armDeadline(running, running.claim.leaseMs - (clock.nowMs() - sentMs));
        this.#scheduleHeartbeat(running);
      },
      (thrown: unknown) => {
        rethrowBug(thrown);
        if (!this.#running.has(running)) return;
        logger.warn(fields(running, thrown), "cannot extend a claim");
        this.#scheduleHeartbeat(running);
      },
    );
  }

  /** RL3. */
  #armDeadline(running: Running, leftMs: number): void {
    running.deadline?.cancel();
    const delayMs = Math.max(0, leftMs * leaseShare);
    running.deadline = this.#options.clock.after(delayMs, () =>
      this.#lose(running, "because it could not be extended in time"),
    );
  }

  #lose(running: Running, when: string): void {
    if (running.isLost) return;
    running.isLost = true;
    running.heartbeat?.cancel();
    running.deadline?.cancel();
    this.#options.logger.warn(fields(running, undefined), `a claim was lost ${when}`);
    running.abort.abort(claimLost);
  }
}

const stopping = new OperatingError("shutting_down", "backoff", "the worker stops");
const claimLost = new OperatingError("lease_lost", "never", "the claim was lost");

function failureOf(thrown: unknown): RefreshFailure {
  const code = thrown instanceof OperatingError ? thrown.code : "query_failed";
  return { code, message: messageOf(thrown), isPermanent: isPermanent(thrown) };
}

/** What the definition refers to is gone, or is not what it was. */
function isPermanent(thrown: unknown): boolean {
  return thrown instanceof OperatingError && thrown.code === "bad_sql" && thrown.retry === "never";
}

function isStoreTrouble(thrown: unknown): boolean {
  const codes = ["store_busy", "store_unavailable", "commit_unknown"];
  return thrown instanceof OperatingError && codes.includes(thrown.code);
}

function fields({ claim }: Running, thrown: unknown) {
  return {
    worker_id: claim.workerId,
    dynamic_table: claim.table.name,
    token: claim.token,
    ...(thrown === undefined ? {} : { error: messageOf(thrown) }),
  };
}

/** RL6: an unhandled rejection, on purpose. */
function rethrowBug(thrown: unknown): void {
  if (thrown instanceof AssertionError) throw thrown;
}

/** What throws before it has a promise has failed, too. */
function attempt<T>(begin: () => Promise<T>): Promise<T> {
  try {
    return begin();
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}
