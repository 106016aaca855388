/**
 * Something that takes a while to read, for many who want it: whoever asks while it is being read
 * shares the next reading with all who ask until that begins. So nobody gets what was read before he
 * asked, and one reading at a time serves any number.
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
