/** So many bytes may wait for readers, in all queues together. */
export class ByteBudget {
  readonly bytesMax: number;
  #takenBytes = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** `false`: there is no room for them, and nothing was taken. */
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
 * Events that one consumer reads in order, as they come. It ends with `end`; a consumer that leaves is told to `onLeave`. What
 * waits counts against the budget until it is read or dropped, so somebody has to read, if only to leave.
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

  /** `false`: there is no room for it. */
  push(event: Event, bytes = 0): boolean {
    if (this.#ended) return true;
    if (!this.#budget.take(bytes)) return false;
    this.#events.push({ event, bytes });
    this.#wake();
    return true;
  }

  /** Nobody will read what waits. */
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
