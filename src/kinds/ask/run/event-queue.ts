/** The bytes that may wait for readers, in all queues together. */
export class ByteBudget {
  readonly bytesMax: number;
  #takenBytes = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** Returns `false`, and takes nothing, when there is no room. */
  take(bytes: number): boolean {
    if (this.#takenBytes + bytes > this.bytesMax) return false;
    this.#takenBytes += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#takenBytes -= bytes;
  }
}

/**
 * Events that one consumer reads in order, as they arrive. The queue ends with `end`; `onLeave` is
 * called when the consumer leaves. Waiting events count against the budget until they are read or
 * dropped, so every queue needs a consumer, if only one that leaves.
 */
export class EventQueue<Event> implements AsyncIterable<Event> {
  readonly #events: { readonly event: Event; readonly bytes: number }[] = [];
  readonly #budget: ByteBudget;
  readonly #onLeave: () => void;
  #wake: () => void = () => undefined;
  #ended: boolean = false;

  constructor(budget: ByteBudget, onLeave: () => void) {
    this.#budget = budget;
    this.#onLeave = onLeave;
  }

  /** Returns `false` when there is no room for the event. */
  push(event: Event, bytes = 0): boolean {
    if (this.#ended) return true;
    if (!this.#budget.take(bytes)) return false;
    this.#events.push({ event, bytes });
    this.#wake();
    return true;
  }

  /** Drops what waits, because nobody will read it. */
  drop(): void {
    for (const { bytes } of this.#events) this.#budget.give(bytes);
    this.#events.length = 0;
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event> {
    try {
      for (;;) {
        const next = this.#events.shift();
        if (next !== undefined) {
          this.#budget.give(next.bytes);
          yield next.event;
        } else if (this.#ended) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.#ended = true;
      this.drop();
      this.#onLeave();
    }
  }
}
