/**
 * A clock that moves only when told to, for tests and simulation.
 *
 * Timers fire in the order of due time, then of creation, and never synchronously from `after`.
 * While a timer fires, `nowMs()` is its due time; time never goes back. After each timer, all
 * promises that it set in motion settle before the next fires, so that a run depends only on its
 * inputs.
 */

import type { Clock, Timer } from "../clock.ts";
import { assert } from "../errors.ts";

interface Pending {
  readonly dueMs: number;
  readonly sequence: number;
  /** Undefined when cancelled. The entry stays in the heap until it surfaces. */
  fire: (() => void) | undefined;
}

export interface VirtualClockOptions {
  readonly startMs?: number;
  /** Wall-clock milliseconds at `nowMs() === 0`. */
  readonly wallStartMs?: number;
  /** Resolves when every promise that can settle without time passing has done so. */
  readonly settle?: () => Promise<void>;
}

export class VirtualClock implements Clock {
  #nowMs: number;
  readonly #wallStartMs: number;
  readonly #settle: () => Promise<void>;
  readonly #heap: Pending[] = [];
  #sequence = 0;
  #pendingCount = 0;

  constructor(options: VirtualClockOptions = {}) {
    this.#nowMs = options.startMs ?? 0;
    this.#wallStartMs = options.wallStartMs ?? 1_700_000_000_000;
    this.#settle = options.settle ?? settleMicrotasks;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  wallMs(): number {
    return Math.floor(this.#wallStartMs + this.#nowMs);
  }

  after(delayMs: number, fire: () => void): Timer {
    assert(!Number.isNaN(delayMs), "a delay is a number");
    const dueMs = this.#nowMs + Math.max(0, delayMs);
    const pending: Pending = { dueMs, sequence: this.#sequence, fire };
    this.#sequence += 1;
    this.#pendingCount += 1;
    push(this.#heap, pending);
    return {
      cancel: () => {
        if (pending.fire === undefined) return;
        pending.fire = undefined;
        this.#pendingCount -= 1;
      },
    };
  }

  /** Timers that have neither fired nor been cancelled. */
  get pendingCount(): number {
    return this.#pendingCount;
  }

  /** Undefined when no timer is pending. */
  get nextDueMs(): number | undefined {
    while (this.#heap[0] !== undefined && this.#heap[0].fire === undefined) pop(this.#heap);
    return this.#heap[0]?.dueMs;
  }

  /**
   * Moves time to the next timer and fires it, without settling. Returns false when there is none.
   */
  fireNext(): boolean {
    if (this.nextDueMs === undefined) return false;
    const next = pop(this.#heap);
    const fire = next.fire;
    assert(fire !== undefined, "cancelled timers were skipped");
    next.fire = undefined; // Cancelling it has no effect from now on.
    this.#pendingCount -= 1;
    this.#nowMs = Math.max(this.#nowMs, next.dueMs); // Time never goes back.
    fire();
    return true;
  }

  /** Advances by exactly `deltaMs` and fires every timer due in that time, in order. */
  async advance(deltaMs: number): Promise<void> {
    const untilMs = this.#nowMs + deltaMs;
    await this.#settle();
    for (
      let dueMs = this.nextDueMs;
      dueMs !== undefined && dueMs <= untilMs;
      dueMs = this.nextDueMs
    ) {
      this.fireNext();
      await this.#settle();
    }
    this.#nowMs = untilMs;
  }

  /** Fires until no timer is left. Fails after `firesMax`, when a timer keeps re-arming itself. */
  async runAll(firesMax = 100_000): Promise<void> {
    await this.#settle();
    for (let fires = 0; this.fireNext(); fires += 1) {
      assert(fires < firesMax, `a virtual clock ran ${firesMax} timers and was not done`);
      await this.#settle();
    }
  }
}

/** A macrotask runs only when no microtask is left. */
export function settleMicrotasks(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function isBefore(a: Pending, b: Pending): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.sequence < b.sequence);
}

function push(heap: Pending[], item: Pending): void {
  let index = heap.push(item) - 1;
  while (index > 0) {
    const parentIndex = (index - 1) >> 1;
    const parent = heap[parentIndex] as Pending;
    if (!isBefore(item, parent)) break;
    heap[index] = parent;
    index = parentIndex;
  }
  heap[index] = item;
}

/** The heap must not be empty. */
function pop(heap: Pending[]): Pending {
  const top = heap[0] as Pending;
  const last = heap.pop() as Pending;
  if (heap.length === 0) return top;
  let index = 0;
  for (;;) {
    let childIndex = index * 2 + 1;
    const left = heap[childIndex];
    if (left === undefined) break;
    const right = heap[childIndex + 1];
    if (right !== undefined && isBefore(right, left)) childIndex += 1;
    const child = heap[childIndex] as Pending;
    if (!isBefore(child, last)) break;
    heap[index] = child;
    index = childIndex;
  }
  heap[index] = last;
  return top;
}
