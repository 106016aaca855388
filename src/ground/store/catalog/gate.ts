/**
 * A bounded turnstile: at most `slots` inside and at most `waitersMax` waiting, in order of
 * arrival, for at most `waitMsMax`. Anything beyond that is refused at once.
 */

import type { Clock, Timer } from "../../kernel/clock.ts";
import { assert, OperatingError } from "../../kernel/errors.ts";

export interface GateLimits {
  readonly slots: number;
  readonly waitersMax: number;
  readonly waitMsMax: number;
}

interface Waiter {
  enter(): void;
  refuse(error: OperatingError): void;
  timer: Timer | undefined;
}

export class Gate {
  readonly #limits: GateLimits;
  readonly #clock: Clock | undefined;
  readonly #waiters = new Set<Waiter>();
  #inside = 0;
  #closed: boolean = false;
  #emptied: (() => void)[] = [];

  /** Without a clock no wait times out, as in the simulator, where those inside never wait. */
  constructor(limits: GateLimits, clock: Clock | undefined) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Resolves when inside. Everyone who entered must leave once. */
  enter(): Promise<void> {
    if (this.#closed) return Promise.reject(storeClosed());
    if (this.#inside < this.#limits.slots) {
      this.#inside += 1;
      return Promise.resolve();
    }
    if (this.#waiters.size >= this.#limits.waitersMax) {
      return Promise.reject(busyError(`${this.#waiters.size} transactions are waiting already`));
    }
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { enter: resolve, refuse: reject, timer: undefined };
      waiter.timer = this.#clock?.after(this.#limits.waitMsMax, () => {
        this.#waiters.delete(waiter);
        reject(busyError(`waited ${this.#limits.waitMsMax} ms for the transactions before it`));
      });
      this.#waiters.add(waiter);
    });
  }

  leave(): void {
    assert(this.#inside > 0, "only those inside leave");
    for (const next of this.#waiters) {
      this.#waiters.delete(next);
      next.timer?.cancel();
      next.enter(); // The place passes on, so `#inside` stays.
      return;
    }
    this.#inside -= 1;
    if (this.#inside === 0) for (const resolve of this.#emptied.splice(0)) resolve();
  }

  /** Refuses those who wait or come. Resolves when the last one inside has left. */
  close(): Promise<void> {
    this.#closed = true;
    for (const waiter of this.#waiters) {
      waiter.timer?.cancel();
      waiter.refuse(storeClosed());
    }
    this.#waiters.clear();
    if (this.#inside === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#emptied.push(resolve);
    });
  }
}

function busyError(detail: string): OperatingError {
  return new OperatingError("store_busy", "backoff", `the store is busy: ${detail}`, {
    hint: "It can be read meanwhile. A process that was stopped in the middle of a write holds the store's lock until it goes on or ends.",
  });
}

export function storeClosed(): OperatingError {
  return new OperatingError("shutting_down", "never", "the store is closed");
}
