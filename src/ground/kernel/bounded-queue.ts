/**
 * A queue with a limit. Every queue in Capstan has one: an item that does not fit is refused when
 * it is pushed, while the sender can still be told.
 */
import { assert } from "./errors.ts";

export class BoundedQueue<T> implements AsyncIterable<T> {
  readonly #capacity: number;
  #items: T[] = [];
  #head = 0;
  #closed = false;
  #waiting: (() => void) | undefined;

  constructor(capacity: number) {
    assert(Number.isInteger(capacity) && capacity > 0, "a queue's capacity is a positive integer");
    this.#capacity = capacity;
  }

  get length(): number {
    return this.#items.length - this.#head;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Returns false when the queue is full or closed; the item was not taken. */
  push(item: T): boolean {
    if (this.#closed || this.length >= this.#capacity) return false;
    this.#items.push(item);
    this.#wake();
    return true;
  }

  /** Returns undefined when the queue is empty. */
  shift(): T | undefined {
    if (this.#head === this.#items.length) return undefined;
    const item = this.#items[this.#head] as T;
    this.#items[this.#head] = undefined as T;
    this.#head += 1;
    if (this.#head > 64 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  /** Refuses new items. Items inside are still handed out, then iteration ends. */
  close(): void {
    this.#closed = true;
    this.#wake();
  }

  /** One consumer at a time. */
  async *[Symbol.asyncIterator](): AsyncIterator<T> {
    for (;;) {
      if (this.length > 0) {
        yield this.shift() as T;
      } else if (this.#closed) {
        return;
      } else {
        assert(this.#waiting === undefined, "a bounded queue has one consumer");
        await new Promise<void>((resolve) => {
          this.#waiting = resolve;
        });
      }
    }
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.();
  }
}
