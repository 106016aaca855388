/**
 * Handles events completely and in order of arrival. An event that arrives during another waits,
 * even if that one caused it.
 */
export class OneAtATime<Event> {
  readonly #handle: (event: Event) => void;
  readonly #pending: Event[] = [];
  #handling: boolean = false;

  constructor(handle: (event: Event) => void) {
    this.#handle = handle;
  }

  /** Returns false when the event waits; a caller further up the stack handles it. */
  push(event: Event): boolean {
    this.#pending.push(event);
    if (this.#handling) return false;
    this.#handling = true;
    try {
      for (let next = this.#pending.shift(); next !== undefined; next = this.#pending.shift()) {
        this.#handle(next);
      }
    } finally {
      this.#handling = false;
    }
    return true;
  }
}
