/**
 * Whether the event loop has looked at the network more than once since a moment. What the first
 * look finds had come by then, however late the look was; time alone cannot tell that on a busy
 * machine.
 */
export class LoopTurns {
  #turn = 0;
  #left = 0;

  /** Counts turns until the second look is over. */
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
