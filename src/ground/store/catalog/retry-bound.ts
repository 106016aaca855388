/**
 * Bounds retries: with pauses that double (BO1), for `retryMsMax` in all, and then one last pause:
 * after a thread stood still, whoever holds the lock needs a turn to release it.
 */
import { type Backoff, backoffMs } from "../../kernel/backoff.ts";
import { type Clock, sleep } from "../../kernel/clock.ts";
import type { Prng } from "../../kernel/prng.ts";

export interface RetryLimits extends Backoff {
  readonly retryMsMax: number;
}

export class RetryBound {
  readonly #clock: Clock;
  readonly #prng: Prng;
  readonly #limits: RetryLimits;
  readonly #giveUpAtMs: number;
  #failures = 0;
  #isOver: boolean = false;

  constructor(clock: Clock, prng: Prng, limits: RetryLimits) {
    this.#clock = clock;
    this.#prng = prng;
    this.#limits = limits;
    this.#giveUpAtMs = clock.nowMs() + limits.retryMsMax;
  }

  /** False when the time for retries is over. */
  async pause(): Promise<boolean> {
    if (this.#isOver) return false;
    const leftMs = this.#giveUpAtMs - this.#clock.nowMs();
    this.#isOver = leftMs <= 0;
    this.#failures += 1;
    const pauseMs = backoffMs(this.#limits, this.#failures, this.#prng.next());
    await sleep(this.#clock, this.#isOver ? pauseMs : Math.min(pauseMs, leftMs));
    return true;
  }
}
