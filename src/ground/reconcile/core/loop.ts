/**
 * A loop for work that has no keys: one turn at a time, when it is poked, when its time has come, and after a
 * failure with a pause. It is a `KeyedQueue` of one key, and its rules are those of the queue. RC12
 */
import { KeyedQueue, type KeyedQueueOptions, type ReconcileResult } from "./keyed-queue.ts";

type QueueOptions = Pick<
  KeyedQueueOptions<"turn">,
  "clock" | "prng" | "firstMs" | "lease" | "backoff" | "stopMsMax" | "logger" | "trouble"
>;

export interface LoopOptions extends QueueOptions {
  /** Does what is to be done now. Throws to be called again later. */
  readonly turn: (signal: AbortSignal) => Promise<ReconcileResult>;
  /**
   * From the end of a turn to the next, unless the turn says otherwise. After a failure as well, unless there
   * is a `backoff`.
   */
  readonly everyMs: number;
}

export class Loop {
  readonly #queue: KeyedQueue<"turn">;

  constructor({ turn, everyMs, ...options }: LoopOptions) {
    this.#queue = new KeyedQueue<"turn">({
      backoff: { minMs: everyMs, maxMs: everyMs },
      ...options,
      keys: () => ["turn"],
      reconcile: (_key, signal) =>
        turn(signal).then((said) => ({ requeueAfterMs: everyMs, ...said })),
    });
  }

  start(): void {
    this.#queue.start();
  }

  /** There may be something to do: a turn at once, or one more after the one under way. */
  poke(): void {
    this.#queue.add("turn");
  }

  /** To be called from the lease keeper's `onChange`. */
  leaseChanged(): void {
    this.#queue.leaseChanged();
  }

  /** Aborts the turn that is under way and waits for it, at most `stopMsMax`. Idempotent. */
  stop(): Promise<void> {
    return this.#queue.stop();
  }
}
