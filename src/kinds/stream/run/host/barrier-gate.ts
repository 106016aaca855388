/**
 * Where the barriers of a checkpoint meet: whoever has brought one waits until all senders have, or
 * have ended. Then the checkpoint is taken, once, and everybody goes on (SU20).
 */
export class BarrierGate {
  readonly #take: (checkpoint: number) => void;
  #senders: number;
  #arrived = 0;
  #checkpoint: number | undefined;
  #taken = 0;
  #met = Promise.withResolvers<void>();

  constructor(senders: number, take: (checkpoint: number) => void) {
    this.#senders = senders;
    this.#take = take;
  }

  /** A checkpoint began at the sources here; without senders it is taken at once. */
  begin(checkpoint: number): void {
    if (checkpoint <= this.#taken) return; // The barriers were faster.
    this.#checkpoint ??= checkpoint;
    this.#check();
  }

  arrived(checkpoint: number): Promise<void> {
    this.#checkpoint = checkpoint;
    this.#arrived += 1;
    const met = this.#met.promise;
    this.#check();
    return met;
  }

  /** A sender has ended: it brings no barrier any more. */
  ended(): void {
    this.#senders -= 1;
    this.#check();
  }

  #check(): void {
    if (this.#checkpoint === undefined || this.#arrived < this.#senders) return;
    const checkpoint = this.#checkpoint;
    const { resolve } = this.#met;
    this.#checkpoint = undefined;
    this.#arrived = 0;
    this.#taken = checkpoint;
    this.#met = Promise.withResolvers();
    this.#take(checkpoint);
    resolve();
  }
}
