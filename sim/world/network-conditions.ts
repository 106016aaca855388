/** Who reaches whom, and how fast. Hosts are named; a direction is a pair of names. */
import type { Prng } from "../../src/kernel/prng.ts";

export interface Direction {
  readonly from: string;
  readonly to: string;
}

export class NetworkConditions {
  readonly #prng: Prng;
  readonly #nowMs: () => number;
  readonly #baseMs = new Map<string, number>();
  readonly #blocked = new Map<string, number>();
  readonly #spikes = new Map<string, { readonly extraMs: number; readonly untilMs: number }>();
  readonly #slowShare: number;

  constructor(prng: Prng, nowMs: () => number) {
    this.#prng = prng;
    this.#nowMs = nowMs;
    this.#slowShare = prng.next() < 0.3 ? 0.3 : 0;
  }

  /** One way, in milliseconds, drawn anew each time. */
  latencyMs(from: string, to: string): number {
    const key = directionKey(from, to);
    let baseMs = this.#baseMs.get(key);
    if (baseMs === undefined) {
      baseMs =
        this.#prng.next() < this.#slowShare ? 20 + this.#prng.next() * 60 : 0.2 + this.#prng.next() * 3;
      this.#baseMs.set(key, baseMs);
      this.#baseMs.set(directionKey(to, from), baseMs);
    }
    const spike = this.#spikes.get(key);
    const isSlow = spike !== undefined && this.#nowMs() < spike.untilMs;
    const extraMs = isSlow ? spike.extraMs * (0.5 + this.#prng.next()) : 0;
    return baseMs * (1 + this.#prng.next()) + extraMs;
  }

  /** The longest that something sent lately may take, while nothing is blocked. */
  latencyMsMax(from: string, to: string): number {
    const key = directionKey(from, to);
    const spike = this.#spikes.get(key);
    const spikeMs = (spike?.extraMs ?? 0) * 1.5;
    const isOver = spike === undefined || this.#nowMs() > spike.untilMs + spikeMs;
    return (this.#baseMs.get(key) ?? 0) * 2 + (isOver ? 0 : spikeMs);
  }

  isBlocked(from: string, to: string): boolean {
    return this.#blocked.has(directionKey(from, to));
  }

  /** Blocks are counted, so that overlapping partitions heal one by one. */
  block(from: string, to: string): void {
    const key = directionKey(from, to);
    this.#blocked.set(key, (this.#blocked.get(key) ?? 0) + 1);
  }

  /** `true`: the direction is open again. */
  unblock(from: string, to: string): boolean {
    const key = directionKey(from, to);
    const count = (this.#blocked.get(key) ?? 0) - 1;
    if (count > 0) this.#blocked.set(key, count);
    else this.#blocked.delete(key);
    return count <= 0;
  }

  slowDown(from: string, to: string, extraMs: number, untilMs: number): void {
    this.#spikes.set(directionKey(from, to), { extraMs, untilMs });
  }
}

function directionKey(from: string, to: string): string {
  return `${from}>${to}`;
}
