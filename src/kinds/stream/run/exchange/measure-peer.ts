/**
 * What the exchange with another process is like, for whoever places fragments: how long a word
 * takes there and back, how fast bytes are taken, and how many wait. Pure.
 */
export interface PeerMeasures {
  readonly address: string;
  /** Of the last ping; absent before the first one was answered. */
  readonly roundTripMs: number | undefined;
  /** Bytes that the other side took in the last interval. */
  readonly bytesPerSecond: number;
  /** Bytes that were sent and not taken yet, or wait to be sent. */
  readonly backlogBytes: number;
}

export class PeerMeter {
  #roundTripMs: number | undefined;
  #takenBytes = 0;
  #bytesPerSecond = 0;
  #last: { readonly atMs: number; readonly takenBytes: number };

  constructor(nowMs: number) {
    this.#last = { atMs: nowMs, takenBytes: 0 };
  }

  taken(bytes: number): void {
    this.#takenBytes += bytes;
  }

  answered(roundTripMs: number): void {
    this.#roundTripMs = roundTripMs;
  }

  /** An interval is over. */
  tick(nowMs: number): void {
    const elapsedMs = nowMs - this.#last.atMs;
    if (elapsedMs <= 0) return;
    this.#bytesPerSecond = ((this.#takenBytes - this.#last.takenBytes) / elapsedMs) * 1_000;
    this.#last = { atMs: nowMs, takenBytes: this.#takenBytes };
  }

  measures(address: string, backlogBytes: number): PeerMeasures {
    const [roundTripMs, bytesPerSecond] = [this.#roundTripMs, this.#bytesPerSecond];
    return { address, roundTripMs, bytesPerSecond, backlogBytes };
  }
}
