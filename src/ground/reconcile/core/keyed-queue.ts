/**
 * Level-triggered reconciliation: a wake-up carries only a key, and the reconciler looks at the
 * state as it is when it runs. The slow resync finds what was missed. Rules: RC1 to RC13.
 *
 * Runs begin in a microtask after `add`, never inside it, so that it can be called from anywhere.
 */
import { type Backoff, backoffMs } from "../../kernel/backoff.ts";
import { BoundedQueue } from "../../kernel/bounded-queue.ts";
import type { Clock, Timer } from "../../kernel/clock.ts";
import { AssertionError, assert, messageOf } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Prng } from "../../kernel/prng.ts";

/**
 * The key is reconciled, and is to run again after `requeueAfterMs`. It never runs before `restMs`
 * are over, even when it is added.
 */
export type ReconcileResult =
  // biome-ignore lint/suspicious/noConfusingVoidType: a reconciler that has nothing to say returns nothing.
  void | { readonly requeueAfterMs: number; readonly restMs?: number };

export interface KeyedQueueOptions<K extends string> {
  readonly clock: Clock;
  /** Without it pauses are not randomised. */
  readonly prng?: Prng;
  /**
   * Brings the world to the desired state for one key. Idempotent; throws to be retried. The signal
   * aborts when the queue stops, and when the lease is lost.
   */
  readonly reconcile: (key: K, signal: AbortSignal) => Promise<ReconcileResult>;
  /** Lists every key, at the start and for the slow resync. */
  readonly keys?: (signal: AbortSignal) => Iterable<K> | Promise<Iterable<K>>;
  /** Without it keys are listed only once, at the start of each lease. */
  readonly resyncMs?: number;
  /** The delay of the first listing. */
  readonly firstMs?: number;
  /** The current lease; undefined while another process leads. Without it the queue always runs. */
  readonly lease?: () => { readonly epoch: number } | undefined;
  readonly backoff?: Backoff;
  readonly concurrency?: number;
  /** The number of keys that may be queued, running or waiting. */
  readonly keysMax?: number;
  /** How long `stop` waits for running reconcilers. */
  readonly stopMsMax?: number;
  readonly logger: Logger;
  /** The log message of a failed run. */
  readonly trouble?: string;
}

type Phase =
  | { readonly kind: "queued" }
  | { readonly kind: "running"; readonly again: boolean }
  | {
      readonly kind: "waiting";
      /** Whether the key waits because it failed or has news, not only for its next regular run. */
      readonly isOwed: boolean;
      readonly dueMs: number;
      readonly timer: Timer;
    };

interface Entry {
  phase: Phase;
  /** Consecutive runs that threw. */
  failures: number;
  restUntilMs: number;
}

const queued: Phase = { kind: "queued" };

const defaults = {
  keys: () => [],
  firstMs: 0,
  backoff: { minMs: 100, maxMs: 30_000 },
  concurrency: 1,
  keysMax: 10_000,
  stopMsMax: 5_000,
  trouble: "reconciling failed",
};

export class KeyedQueue<K extends string> {
  readonly #options: KeyedQueueOptions<K> &
    Required<Pick<KeyedQueueOptions<K>, keyof typeof defaults>>;
  readonly #clock: Clock;
  /** Only keys that are queued, running or waiting. */
  readonly #entries = new Map<K, Entry>();
  #queue: BoundedQueue<K>;
  #state: "new" | "started" | "stopped" = "new";
  /** Lasts from the start, or from the grant of the lease, until it ends. */
  #term = new AbortController();
  #epoch: number | undefined;
  #runningCount = 0;
  #pumpScheduled = false;
  #isListing = false;
  #listFailures = 0;
  #resyncTimer: Timer | undefined;
  #resyncFrom = 0;
  #stopped: Promise<void> | undefined;
  #onLastRunEnded: (() => void) | undefined;

  constructor(options: KeyedQueueOptions<K>) {
    this.#options = { ...defaults, ...options };
    this.#clock = options.clock;
    const { backoff, concurrency, keysMax } = this.#options;
    assert(concurrency > 0, "a keyed queue runs something");
    assert(0 < backoff.minMs && backoff.minMs <= backoff.maxMs, "a backoff grows");
    this.#queue = new BoundedQueue(keysMax);
  }

  /** Returns false when stopped, without the lease, or full (the next resync brings the key). */
  add(key: K): boolean {
    return this.#add(key, "news");
  }

  start(): void {
    assert(this.#state === "new", "a keyed queue is started once");
    this.#state = "started";
    this.#begin();
  }

  /** RC11. Call it from the lease keeper's `onChange`. */
  leaseChanged(): void {
    if (this.#state !== "started" || this.#options.lease?.()?.epoch === this.#epoch) return;
    this.#endTerm();
    this.#begin();
  }

  /** Aborts running reconcilers and waits for them, at most `stopMsMax`. Idempotent. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /** Whether nothing is queued, running, or waiting for a retry. */
  idle(): boolean {
    for (const { phase } of this.#entries.values()) {
      if (phase.kind !== "waiting" || phase.isOwed) return false;
    }
    return !this.#isListing;
  }

  #isOpen(): boolean {
    const { lease } = this.#options;
    return this.#state === "started" && (lease === undefined || this.#epoch !== undefined);
  }

  #begin(): void {
    this.#epoch = this.#options.lease?.()?.epoch;
    this.#term = new AbortController();
    if (!this.#isOpen()) return;
    if (this.#options.firstMs > 0) this.#resyncAfter(this.#options.firstMs);
    else this.#resync();
    this.#schedulePump();
  }

  /** A running key stays until it has ended, so that it never runs twice at the same time. */
  #endTerm(): void {
    this.#term.abort();
    this.#resyncTimer?.cancel();
    this.#queue = new BoundedQueue(this.#options.keysMax);
    for (const [key, { phase }] of this.#entries) {
      if (phase.kind === "waiting") phase.timer.cancel();
      if (phase.kind !== "running") this.#entries.delete(key);
    }
  }

  #add(key: K, why: "news" | "resync"): boolean {
    if (this.#state !== "new" && !this.#isOpen()) return false;
    const entry = this.#entries.get(key);
    if (entry === undefined) {
      const { keysMax, logger } = this.#options;
      if (this.#entries.size >= keysMax) {
        logger.warn({ key, keys_max: keysMax }, "the queue is full; the key waits for the resync");
        return false; // RC6
      }
      this.#enqueue(key, { phase: queued, failures: 0, restUntilMs: 0 });
      return true;
    }
    const { phase } = entry;
    if (phase.kind === "running")
      entry.phase = { kind: "running", again: true }; // RC3
    else if (phase.kind === "waiting" && !(phase.isOwed && why === "resync")) {
      const nowMs = this.#clock.nowMs();
      const earliestMs =
        entry.failures > 0 ? nowMs + this.#options.backoff.minMs : entry.restUntilMs; // RC4, RC13
      if (phase.dueMs > earliestMs) this.#wait(key, entry, earliestMs - nowMs, true);
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

  #wait(key: K, entry: Entry, delayMs: number, isOwed: boolean): void {
    if (entry.phase.kind === "waiting") entry.phase.timer.cancel();
    if (isOwed && delayMs <= 0) {
      this.#enqueue(key, entry);
      return;
    }
    const dueMs = this.#clock.nowMs() + delayMs;
    const timer = this.#clock.after(delayMs, () => this.#enqueue(key, entry));
    entry.phase = { kind: "waiting", isOwed, dueMs, timer };
  }

  #schedulePump(): void {
    if (this.#pumpScheduled || this.#state !== "started") return;
    this.#pumpScheduled = true;
    void Promise.resolve().then(() => {
      this.#pumpScheduled = false;
      this.leaseChanged(); // RC11: the notification may come later.
      this.#pump();
    });
  }

  #pump(): void {
    while (this.#isOpen() && this.#runningCount < this.#options.concurrency) {
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
    const { signal } = this.#term;
    void this.#call(key, signal).then(
      (result) => this.#succeeded(key, entry, signal, result),
      (thrown: unknown) => this.#failed(key, entry, signal, thrown),
    );
  }

  /** A reconciler may throw before it returns a promise. */
  #call(key: K, signal: AbortSignal): Promise<ReconcileResult> {
    try {
      return this.#options.reconcile(key, signal);
    } catch (thrown) {
      return Promise.reject(thrown);
    }
  }

  #succeeded(key: K, entry: Entry, signal: AbortSignal, result: ReconcileResult): void {
    entry.failures = 0;
    if (this.#ended(key, entry, signal)) return;
    const { requeueAfterMs, restMs = 0 } = result ?? {};
    entry.restUntilMs = this.#clock.nowMs() + restMs; // RC13
    const again = entry.phase.kind === "running" && entry.phase.again;
    if (again) this.#wait(key, entry, restMs, true);
    else if (requeueAfterMs === undefined) this.#entries.delete(key);
    else this.#wait(key, entry, Math.max(requeueAfterMs, restMs), false);
  }

  #failed(key: K, entry: Entry, signal: AbortSignal, thrown: unknown): void {
    const isLeft = this.#ended(key, entry, signal);
    if (thrown instanceof AssertionError) throw thrown; // RC9: an unhandled rejection, on purpose.
    if (isLeft) return;
    entry.failures += 1;
    this.#wait(key, entry, this.#pauseMs(entry.failures, thrown, { key }), true);
  }

  /** RC4. Logs the failure. */
  #pauseMs(failures: number, thrown: unknown, fields: Readonly<Record<string, string>>): number {
    const { backoff, prng, logger, trouble } = this.#options;
    const pauseMs = backoffMs(backoff, failures, prng?.next());
    const told = { failures, retry_in_ms: Math.round(pauseMs) };
    logger.warn({ ...fields, ...told }, `${trouble}: ${messageOf(thrown)}`);
    return pauseMs;
  }

  /** Returns true when the term of this run is over, so that its result does not count. */
  #ended(key: K, entry: Entry, { aborted }: AbortSignal): boolean {
    this.#runningCount -= 1;
    if (this.#runningCount === 0) this.#onLastRunEnded?.();
    this.#schedulePump();
    if (!aborted) return false;
    if (this.#isOpen() && entry.phase.kind === "running" && entry.phase.again) {
      this.#enqueue(key, { phase: queued, failures: 0, restUntilMs: 0 }); // RC11
    } else this.#entries.delete(key);
    return true;
  }

  /** RC7 */
  #resync(): void {
    const { signal } = this.#term;
    this.#isListing = true;
    void Promise.resolve()
      .then<Iterable<K>>(() => this.#options.keys(signal))
      .then(
        (keys) => this.#listed(keys, signal),
        (thrown: unknown) => {
          if (thrown instanceof AssertionError) throw thrown;
          if (signal.aborted) return;
          this.#isListing = false;
          this.#listFailures += 1;
          this.#resyncAfter(this.#pauseMs(this.#listFailures, thrown, {}));
        },
      );
  }

  #listed(listed: Iterable<K>, { aborted }: AbortSignal): void {
    if (aborted) return;
    const keys = [...listed];
    this.#isListing = false;
    this.#listFailures = 0;
    // The next resync begins where this one found no room, so that every key has its turn (RC6).
    const rotated = [...keys.slice(this.#resyncFrom), ...keys.slice(0, this.#resyncFrom)];
    const refused = rotated.findIndex((key) => !this.#add(key, "resync"));
    this.#resyncFrom = refused < 0 ? 0 : (this.#resyncFrom + refused) % keys.length;
    if (this.#options.resyncMs !== undefined) this.#resyncAfter(this.#options.resyncMs);
  }

  #resyncAfter(delayMs: number): void {
    this.#resyncTimer = this.#clock.after(delayMs, () => this.#resync());
  }

  #stop(): Promise<void> {
    this.#state = "stopped";
    this.#endTerm();
    this.#isListing = false;
    if (this.#runningCount === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = this.#clock.after(this.#options.stopMsMax, () => {
        const fields = { running: this.#runningCount };
        this.#options.logger.warn(fields, "stopped without waiting any longer");
        resolve();
      });
      this.#onLastRunEnded = () => {
        timer.cancel();
        resolve();
      };
    });
  }
}
