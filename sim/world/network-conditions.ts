/** Which hosts reach each other, and how fast. A direction is a pair of host names. */
import type { Prng } from "../../src/ground/kernel/prng.ts";

/** One direction between two hosts. Links keep theirs, so that no frame needs a lookup. */
export interface Direction {
  readonly baseMs: number;
  /** Blocks are counted, so that overlapping partitions heal one by one. */
  blocks: number;
  spikeMs: number;
  spikeUntilMs: number;
}

export class NetworkConditions {
  readonly #prng: Prng;
  readonly #nowMs: () => number;
  readonly #directions = new Map<string, Direction>();
  readonly #slowShare: number;

  constructor(prng: Prng, nowMs: () => number) {
    this.#prng = prng;
    this.#nowMs = nowMs;
    this.#slowShare = prng.next() < 0.3 ? 0.3 : 0;
  }

  direction(from: string, to: string): Direction {
    const known = this.#directions.get(`${from}>${to}`);
    if (known !== undefined) return known;
    const isSlow = this.#prng.next() < this.#slowShare;
    const baseMs = isSlow ? 20 + this.#prng.next() * 60 : 0.2 + this.#prng.next() * 3;
    const direction: Direction = { baseMs, blocks: 0, spikeMs: 0, spikeUntilMs: 0 };
    this.#directions.set(`${from}>${to}`, direction);
    this.#directions.set(`${to}>${from}`, { ...direction });
    return direction;
  }

  /** Ends every delay; blocks are lifted by their owners. */
  calm(): void {
    for (const direction of this.#directions.values()) direction.spikeUntilMs = 0;
  }

  /** In milliseconds, drawn anew for each call. */
  latencyMs({ baseMs, spikeMs, spikeUntilMs }: Direction): number {
    const extraMs = this.#nowMs() < spikeUntilMs ? spikeMs * (0.5 + this.#prng.next()) : 0;
    return baseMs * (1 + this.#prng.next()) + extraMs;
  }

  /** The longest that something sent lately may take, while nothing is blocked. */
  latencyMsMax({ baseMs, spikeMs, spikeUntilMs }: Direction): number {
    const longestMs = spikeMs * 1.5;
    return baseMs * 2 + (this.#nowMs() > spikeUntilMs + longestMs ? 0 : longestMs);
  }
}
