/**
 * For how long something was the case, up to now. What is the case for several reasons at once
 * counts once. Pure: time comes from whoever asks.
 */
export class TimeShare {
  #reasons = 0;
  #sinceMs = 0;
  #totalMs = 0;

  begin(nowMs: number): void {
    if (this.#reasons === 0) this.#sinceMs = nowMs;
    this.#reasons += 1;
  }

  end(nowMs: number): void {
    this.#reasons -= 1;
    if (this.#reasons === 0) this.#totalMs += nowMs - this.#sinceMs;
  }

  /** A span that has not ended counts up to now. */
  totalMs(nowMs: number): number {
    return this.#totalMs + (this.#reasons > 0 ? nowMs - this.#sinceMs : 0);
  }
}
