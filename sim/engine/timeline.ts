/**
 * Virtual time: a binary heap of events, ordered by time, then by a tiebreak drawn from the seed,
 * then by creation. Time never goes back, and moves only when an event is taken. A cancelled event
 * never fires.
 */
import { assert } from "../../src/ground/kernel/errors.ts";
import type { Prng } from "../../src/ground/kernel/prng.ts";

export interface TimelineEvent {
  readonly timeMs: number;
  readonly tiebreak: number;
  readonly sequence: number;
  /** Undefined when cancelled or already fired. */
  fire: (() => void) | undefined;
}

export class Timeline {
  readonly #prng: Prng;
  readonly #heap: TimelineEvent[] = [];
  #nowMs = 0;
  #sequence = 0;
  #fired = 0;

  constructor(prng: Prng) {
    this.#prng = prng;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  get fired(): number {
    return this.#fired;
  }

  /** `tiebreak` is given only where an order within one moment has to be kept. */
  at(timeMs: number, fire: () => void, tiebreak: number = this.#prng.next()): TimelineEvent {
    assert(timeMs >= this.#nowMs, "nothing is scheduled in the past");
    this.#sequence += 1;
    const event: TimelineEvent = { timeMs, tiebreak, sequence: this.#sequence, fire };
    this.#push(event);
    return event;
  }

  after(delayMs: number, fire: () => void): TimelineEvent {
    return this.at(this.#nowMs + Math.max(0, delayMs), fire);
  }

  /**
   * Fires the next event. Returns false when there is none before `endMs`; time is then `endMs`.
   */
  step(endMs: number): boolean {
    for (;;) {
      const event = this.#heap[0];
      if (event === undefined || event.timeMs > endMs) {
        this.#nowMs = Math.max(this.#nowMs, endMs);
        return false;
      }
      this.#pop();
      const fire = event.fire;
      if (fire === undefined) continue;
      event.fire = undefined;
      this.#nowMs = event.timeMs;
      this.#fired += 1;
      fire();
      return true;
    }
  }

  #push(event: TimelineEvent): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(event);
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = heap[parentIndex] as TimelineEvent;
      if (!isBefore(event, parent)) break;
      heap[index] = parent;
      index = parentIndex;
    }
    heap[index] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as TimelineEvent;
    const length = heap.length;
    if (length === 0) return;
    let index = 0;
    for (;;) {
      let childIndex = 2 * index + 1;
      if (childIndex >= length) break;
      let child = heap[childIndex] as TimelineEvent;
      const right = heap[childIndex + 1];
      if (right !== undefined && isBefore(right, child)) {
        child = right;
        childIndex += 1;
      }
      if (!isBefore(child, last)) break;
      heap[index] = child;
      index = childIndex;
    }
    heap[index] = last;
  }
}

function isBefore(a: TimelineEvent, b: TimelineEvent): boolean {
  if (a.timeMs !== b.timeMs) return a.timeMs < b.timeMs;
  if (a.tiebreak !== b.tiebreak) return a.tiebreak < b.tiebreak;
  return a.sequence < b.sequence;
}
