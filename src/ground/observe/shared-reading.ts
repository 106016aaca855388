/**
 * Shares a slow reading among many callers. A caller that asks during a reading gets the next one,
 * together with all others who ask before that begins. So no caller gets a value read before it
 * asked, and only one reading runs at a time.
 */
export class SharedReading<T> {
  readonly #read: () => Promise<T>;
  #current: Promise<T> | undefined;
  #next: Promise<T> | undefined;

  constructor(read: () => Promise<T>) {
    this.#read = read;
  }

  get(): Promise<T> {
    if (this.#current === undefined) return this.#begin();
    this.#next ??= this.#current.then(
      () => this.#begin(),
      () => this.#begin(),
    );
    return this.#next;
  }

  #begin(): Promise<T> {
    this.#next = undefined;
    const reading = this.#read().finally(() => {
      if (this.#current === reading) this.#current = undefined;
    });
    this.#current = reading;
    return reading;
  }
}
