/**
 * Tells whether the event loop has polled the network more than once since a moment. What the first
 * poll finds had arrived before it, however late the poll was; on a busy machine, time alone cannot
 * tell that.
 */
export class LoopTurns {
  #turn = 0;
  #left = 0;

  /** Counts turns until the second poll is over. */
  mark(): number {
    if (this.#left === 0) setImmediate(this.#next);
    this.#left = 2;
    return this.#turn;
  }

  isFirstLookSince(turn: number): boolean {
    return this.#turn - turn <= 1;
  }

  readonly #next = (): void => {
    this.#turn += 1;
    this.#left -= 1;
    if (this.#left > 0) setImmediate(this.#next);
  };
}
