/**
 * Level-triggered reconciliation: a wake-up carries a key and nothing else, and the reconciler looks at the
 * world as it is when it runs. What is missed is found again by the slow resync.
 *
 *   K1  A key is in the queue at most once, however often it is added.
 *   K2  A key never runs beside itself.
 *   K3  Adds during a run, however many, cause exactly one more run after it.
 *   K4  A run that throws is repeated after a pause that doubles from `minMs` to at most `maxMs`, less a random
 *       part of up to half; success resets it. An add during the pause shortens it to `minMs`, no further: news
 *       is worth a try, but a stream of news must not turn a failure into a busy loop.
 *   K5  At most `concurrency` keys run at a time, in the order they were queued.
 *   K6  At most `keysMax` keys are queued, running or waiting. What does not fit is refused, and left to the resync.
 *   K7  Every key of `keys()` is queued at the start and every `resyncMs`; one that pauses after a failure is not
 *       hurried by that.
 *   K8  `stop` starts nothing more, aborts the signal of what runs, and resolves when that has ended or after
 *       `stopMsMax`.
 *   K9  An `AssertionError` is not a failure to be retried: it is passed on and ends the process.
 *
 * Runs begin in a microtask after `add`, never inside it, so it can be called from anywhere. With a virtual
 * clock and a seeded generator the order of everything is determined.
 */
import { type Backoff, backoffMs } from "../../kernel/backoff.ts";
import { BoundedQueue } from "../../kernel/bounded-queue.ts";
import type { Clock, Timer } from "../../kernel/clock.ts";
import { AssertionError, assert, messageOf } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Prng } from "../../kernel/prng.ts";

/** `requeueAfterMs`: all is well, and the key wants to be looked at again by then. */
// biome-ignore lint/suspicious/noConfusingVoidType: a reconciler that has nothing to say returns nothing.
export type ReconcileResult = void | { readonly requeueAfterMs: number };

export interface KeyedQueueOptions<K extends string> {
  readonly clock: Clock;
  readonly prng: Prng;
  /** Makes the world agree with the wish for one key. Idempotent; throws to be called again later. */
  readonly reconcile: (key: K, signal: AbortSignal) => Promise<ReconcileResult>;
  /** Every key there is, for the start and the slow resync. */
  readonly keys?: () => Iterable<K>;
  readonly resyncMs?: number;
  readonly backoff?: Backoff;
  readonly concurrency?: number;
  /** Keys that are queued, running or waiting at a time. */
  readonly keysMax?: number;
  /** How long `stop` waits for what is running. */
  readonly stopMsMax?: number;
  readonly logger: Logger;
}

type Phase =
  | { readonly kind: "queued" }
  | { readonly kind: "running"; readonly again: boolean }
  | {
      readonly kind: "waiting";
      readonly failed: boolean;
      readonly dueMs: number;
      readonly timer: Timer;
    };

interface Entry {
  phase: Phase;
  /** Runs that threw since the last that did not. */
  failures: number;
}

const queued: Phase = { kind: "queued" };

export class KeyedQueue<K extends string> {
  readonly #clock: Clock;
  readonly #prng: Prng;
  readonly #logger: Logger;
  readonly #reconcile: (key: K, signal: AbortSignal) => Promise<ReconcileResult>;
  readonly #keys: () => Iterable<K>;
  readonly #resyncMs: number;
  readonly #backoff: Backoff;
  readonly #concurrency: number;
  readonly #keysMax: number;
  readonly #stopMsMax: number;
  /** Keys that have nothing to do are not here. */
  readonly #entries = new Map<K, Entry>();
  readonly #queue: BoundedQueue<K>;
  readonly #stopping = new AbortController();
  #state: "new" | "started" | "stopped" = "new";
  #runningCount = 0;
  #pumpScheduled = false;
  #resyncTimer: Timer | undefined;
  #resyncFrom = 0;
  #stopped: Promise<void> | undefined;
  #onLastRunEnded: (() => void) | undefined;

  constructor(options: KeyedQueueOptions<K>) {
    this.#clock = options.clock;
    this.#prng = options.prng;
    this.#logger = options.logger;
    this.#reconcile = options.reconcile;
    this.#keys = options.keys ?? (() => []);
    this.#resyncMs = options.resyncMs ?? 60_000;
    this.#backoff = options.backoff ?? { minMs: 100, maxMs: 30_000 };
    this.#concurrency = options.concurrency ?? 1;
    this.#keysMax = options.keysMax ?? 10_000;
    this.#stopMsMax = options.stopMsMax ?? 5_000;
    assert(this.#concurrency > 0, "a keyed queue runs something");
    assert(
      0 < this.#backoff.minMs && this.#backoff.minMs <= this.#backoff.maxMs,
      "a backoff grows",
    );
    this.#queue = new BoundedQueue(this.#keysMax);
  }

  /** `false`: stopped, or `keysMax` keys are there already (the next resync brings it). */
  add(key: K): boolean {
    return this.#add(key, "news");
  }

  start(): void {
    assert(this.#state === "new", "a keyed queue is started once");
    this.#state = "started";
    this.#resync();
    this.#schedulePump();
  }

  /** Aborts what runs and waits for it, at most `stopMsMax`. Idempotent. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /** Nothing is queued, running, or waiting to be tried again after a failure. */
  idle(): boolean {
    for (const { phase } of this.#entries.values()) {
      if (phase.kind !== "waiting" || phase.failed) return false;
    }
    return true;
  }

  #add(key: K, why: "news" | "resync"): boolean {
    if (this.#state === "stopped") return false;
    const entry = this.#entries.get(key);
    if (entry === undefined) {
      if (this.#entries.size >= this.#keysMax) {
        this.#logger.warn(
          { key, keys_max: this.#keysMax },
          "the queue is full; the key waits for the resync",
        );
        return false; // K6
      }
      this.#enqueue(key, { phase: queued, failures: 0 });
      return true;
    }
    const { phase } = entry;
    if (phase.kind === "running") {
      entry.phase = { kind: "running", again: true }; // K3
    } else if (phase.kind === "waiting" && !phase.failed) {
      phase.timer.cancel();
      this.#enqueue(key, entry);
    } else if (phase.kind === "waiting" && why === "news") {
      const { minMs } = this.#backoff;
      if (phase.dueMs > this.#clock.nowMs() + minMs) this.#wait(key, entry, minMs, true); // K4
    }
    return true;
  }

  #enqueue(key: K, entry: Entry): void {
    entry.phase = queued;
    this.#entries.set(key, entry);
    const isTaken = this.#queue.push(key);
    assert(isTaken, "a queue with room for every key takes each key once");
    this.#schedulePump();
  }

  #wait(key: K, entry: Entry, delayMs: number, failed: boolean): void {
    if (entry.phase.kind === "waiting") entry.phase.timer.cancel();
    const dueMs = this.#clock.nowMs() + delayMs;
    const timer = this.#clock.after(delayMs, () => this.#enqueue(key, entry));
    entry.phase = { kind: "waiting", failed, dueMs, timer };
  }

  #schedulePump(): void {
    if (this.#pumpScheduled || this.#state !== "started") return;
    this.#pumpScheduled = true;
    void Promise.resolve().then(() => {
      this.#pumpScheduled = false;
      this.#pump();
    });
  }

  #pump(): void {
    while (this.#state === "started" && this.#runningCount < this.#concurrency) {
      const key = this.#queue.shift();
      if (key === undefined) return;
      const entry = this.#entries.get(key);
      assert(entry?.phase.kind === "queued", "what is in the queue is queued");
      this.#run(key, entry);
    }
  }

  #run(key: K, entry: Entry): void {
    entry.phase = { kind: "running", again: false };
    this.#runningCount += 1;
    void this.#call(key).then(
      (result) => this.#succeeded(key, entry, result),
      (thrown: unknown) => this.#failed(key, entry, thrown),
    );
  }

  /** A reconciler may throw before it has a promise. */
  #call(key: K): Promise<ReconcileResult> {
    try {
      return this.#reconcile(key, this.#stopping.signal);
    } catch (thrown) {
      return Promise.reject(thrown);
    }
  }

  #succeeded(key: K, entry: Entry, result: ReconcileResult): void {
    const again = entry.phase.kind === "running" && entry.phase.again;
    entry.failures = 0;
    this.#ended();
    if (this.#state === "stopped") return;
    if (again) this.#enqueue(key, entry);
    else if (result !== undefined) this.#wait(key, entry, result.requeueAfterMs, false);
    else this.#entries.delete(key);
  }

  #failed(key: K, entry: Entry, thrown: unknown): void {
    this.#ended();
    if (thrown instanceof AssertionError) throw thrown; // K9: an unhandled rejection, on purpose.
    if (this.#state === "stopped") return;
    entry.failures += 1;
    const delayMs = backoffMs(this.#backoff, entry.failures, this.#prng.next()); // K4
    const { failures } = entry;
    this.#logger.warn(
      { key, failures, retry_in_ms: Math.round(delayMs), error: messageOf(thrown) },
      "reconciling failed",
    );
    this.#wait(key, entry, delayMs, true);
  }

  #ended(): void {
    this.#runningCount -= 1;
    if (this.#runningCount === 0) this.#onLastRunEnded?.();
    this.#schedulePump();
  }

  #resync(): void {
    const keys = [...this.#keys()];
    // The next one begins where this one found no room, so that every key has its turn (K6).
    const rotated = [...keys.slice(this.#resyncFrom), ...keys.slice(0, this.#resyncFrom)];
    const refused = rotated.findIndex((key) => !this.#add(key, "resync"));
    this.#resyncFrom = refused < 0 ? 0 : (this.#resyncFrom + refused) % keys.length;
    this.#resyncTimer = this.#clock.after(this.#resyncMs, () => this.#resync());
  }

  #stop(): Promise<void> {
    this.#state = "stopped";
    this.#resyncTimer?.cancel();
    for (const { phase } of this.#entries.values()) {
      if (phase.kind === "waiting") phase.timer.cancel();
    }
    this.#stopping.abort();
    if (this.#runningCount === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = this.#clock.after(this.#stopMsMax, () => {
        this.#logger.warn({ running: this.#runningCount }, "stopped without waiting any longer");
        resolve();
      });
      this.#onLastRunEnded = () => {
        timer.cancel();
        resolve();
      };
    });
  }
}
