/**
 * Time that moves only when told to, for tests and simulation.
 *
 *   V1  Timers fire in the order of (due time, sequence of creation), never synchronously from `after`.
 *   V2  While a timer fires, `nowMs()` is its due time; time never goes back.
 *   V3  After each timer everything it set in motion without further timers (promises) is let finish
 *       before the next fires, so that a run depends on nothing but its inputs.
 */

import type { Clock, Timer } from "../clock.ts";
import { assert } from "../errors.ts";

interface Pending {
  readonly dueMs: number;
  readonly sequence: number;
  /** `undefined`: cancelled. It stays in the heap until it surfaces. */
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

  /** `undefined`: no timer is pending. */
  get nextDueMs(): number | undefined {
    while (this.#heap[0] !== undefined && this.#heap[0].fire === undefined) pop(this.#heap);
    return this.#heap[0]?.dueMs;
  }

  /** Moves time to the next timer and fires it, without settling. `false`: there is none. */
  fireNext(): boolean {
    if (this.nextDueMs === undefined) return false;
    const next = pop(this.#heap);
    const fire = next.fire;
    assert(fire !== undefined, "cancelled timers were skipped");
    next.fire = undefined; // So that cancelling it from now on does nothing.
    this.#pendingCount -= 1;
    this.#nowMs = Math.max(this.#nowMs, next.dueMs); // V2
    fire();
    return true;
  }

  /** Lets `deltaMs` pass: fires every timer due in it, in order, and ends exactly there. */
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

  /** Fires until no timer is left. Fails after `firesMax`: something re-arms itself for ever. */
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
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.sequence < b.sequence); // V1
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
