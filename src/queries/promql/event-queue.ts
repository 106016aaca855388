/** Events that one consumer reads in order, as they come. It ends with `end`; a consumer that leaves is told to `onLeave`. */
export class EventQueue<Event> implements AsyncIterable<Event> {
  readonly #events: Event[] = [];
  readonly #onLeave: () => void;
  #wake: () => void = () => undefined;
  #ended: boolean = false;

  constructor(onLeave: () => void) {
    this.#onLeave = onLeave;
  }

  push(event: Event): void {
    if (this.#ended) return;
    this.#events.push(event);
    this.#wake();
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event> {
    try {
      for (;;) {
        const event = this.#events.shift();
        if (event !== undefined) yield event;
        else if (this.#ended) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.#ended = true;
      this.#events.length = 0;
      this.#onLeave();
    }
  }
}
