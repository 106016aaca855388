/** A loop for work without keys (RC12): a `KeyedQueue` of one key, with the queue's rules. */
import { KeyedQueue, type KeyedQueueOptions, type ReconcileResult } from "./keyed-queue.ts";

type QueueOptions = Pick<
  KeyedQueueOptions<"turn">,
  "clock" | "prng" | "firstMs" | "lease" | "backoff" | "stopMsMax" | "logger" | "trouble"
>;

export interface LoopOptions extends QueueOptions {
  /** Does the work that is due. Throws to be retried. */
  readonly turn: (signal: AbortSignal) => Promise<ReconcileResult>;
  /**
   * From the end of a turn to the next, unless the turn returns another time. Also after a failure,
   * unless there is a `backoff`.
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

  /** Starts a turn at once, or one more after the current turn. */
  poke(): void {
    this.#queue.add("turn");
  }

  /** Call it from the lease keeper's `onChange`. */
  leaseChanged(): void {
    this.#queue.leaseChanged();
  }

  /** Aborts the current turn and waits for it, at most `stopMsMax`. Idempotent. */
  stop(): Promise<void> {
    return this.#queue.stop();
  }
}
