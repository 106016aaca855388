/**
 * Handles events one after the other, in order of arrival, each to its end: an event that arrives while another is
 * being handled, even if it is a consequence of it, waits.
 */
export class OneAtATime<Event> {
  readonly #handle: (event: Event) => void;
  readonly #pending: Event[] = [];
  #handling: boolean = false;

  constructor(handle: (event: Event) => void) {
    this.#handle = handle;
  }

  /** `false`: it waits, and a caller further up the stack handles it. */
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
