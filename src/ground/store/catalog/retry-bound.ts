/**
 * How often and how long something that may pass is tried again: doubling pauses up to a cap, each drawn
 * from its upper half so that two contenders part, and no longer than `retryMsMax` in all, but for one last pause: a thread or
 * machine that stood still has used that time up, and whoever holds what is waited for needs a turn to let go of it.
 */
import { type Clock, sleep } from "../../kernel/clock.ts";
import type { Prng } from "../../kernel/prng.ts";

export interface RetryLimits {
  readonly pauseMsMin: number;
  readonly pauseMsMax: number;
  readonly retryMsMax: number;
}

export class RetryBound {
  readonly #clock: Clock;
  readonly #prng: Prng;
  readonly #limits: RetryLimits;
  readonly #giveUpAtMs: number;
  #pauseMs: number;
  #isOver: boolean = false;

  constructor(clock: Clock, prng: Prng, limits: RetryLimits) {
    this.#clock = clock;
    this.#prng = prng;
    this.#limits = limits;
    this.#giveUpAtMs = clock.nowMs() + limits.retryMsMax;
    this.#pauseMs = limits.pauseMsMin;
  }

  /** `false`: it was tried long enough. */
  async pause(): Promise<boolean> {
    if (this.#isOver) return false;
    const leftMs = this.#giveUpAtMs - this.#clock.nowMs();
    this.#isOver = leftMs <= 0;
    const pauseMs = this.#pauseMs * (0.5 + this.#prng.next() / 2);
    this.#pauseMs = Math.min(this.#pauseMs * 2, this.#limits.pauseMsMax);
    await sleep(this.#clock, this.#isOver ? pauseMs : Math.min(pauseMs, leftMs));
    return true;
  }
}
