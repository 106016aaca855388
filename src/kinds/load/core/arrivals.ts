/**
 * When operations are due in an open loop: the answer is computed from the rate alone, never from
 * when earlier operations ended, so that a slow target is seen as slow. Rules: AR1 to AR3.
 */
import type { Prng } from "../../../ground/kernel/prng.ts";

export interface ArrivalOptions {
  readonly pattern: "uniform" | "poisson";
  readonly prng: Prng;
  readonly startMs: number;
  /** This worker's turn among those that share the rate. */
  readonly turn?: { readonly index: number; readonly count: number };
}

export class Arrivals {
  readonly #pattern: "uniform" | "poisson";
  readonly #prng: Prng;
  /** The rate has been integrated up to this moment. */
  #atMs: number;
  /** The part of the integral that is missing for the next arrival. */
  #left: number;
  #ramp: Ramp;
  #nextMs: number | undefined;
  /** Announced changes of the rate, in order. */
  #changes: Change[] = [];
  #begun: Change;

  constructor({ pattern, prng, startMs, turn = { index: 0, count: 1 } }: ArrivalOptions) {
    this.#pattern = pattern;
    this.#prng = prng;
    this.#atMs = startMs;
    this.#ramp = { startMs, endMs: startMs, fromRate: 0, toRate: 0 };
    this.#begun = { fromMs: startMs, endMs: startMs, rate: 0 };
    this.#left = pattern === "uniform" ? (turn.index + 1) / turn.count : this.#gap();
  }

  /** Operations a second at a moment that is not before the last arrival. */
  rateAt(ms: number): number {
    return rateOf(this.#ramp, ms);
  }

  /**
   * Changes the rate from `fromMs` on, over `rampMs`; `fromMs` may lie ahead. Arrivals due before
   * `fromMs` stay due. Replaces the changes announced for `fromMs` or later. Idempotent.
   */
  setRate(fromMs: number, rate: number, rampMs: number): void {
    const endMs = fromMs + rampMs;
    const isThis = (change: Change): boolean =>
      change.fromMs === fromMs && change.rate === rate && change.endMs === endMs;
    if ([...this.#changes, this.#begun].some(isThis)) return;
    this.#changes = this.#changes.filter((change) => change.fromMs < fromMs);
    this.#changes.push({ fromMs, rate, endMs });
    this.#advance();
  }

  /** When the next arrival is due. Undefined when none is due at this rate. */
  peek(): number | undefined {
    this.#nextMs ??= reach(this.#ramp, this.#atMs, this.#left);
    return this.#nextMs;
  }

  /** Takes the arrival that `peek` returned. */
  take(): void {
    const dueMs = this.peek();
    if (dueMs === undefined) return;
    this.#atMs = dueMs;
    this.#left = this.#gap();
    this.#nextMs = undefined;
    this.#advance();
  }

  /** Skips the arrivals due until `ms`; the rates still change. */
  skipTo(ms: number): void {
    for (const change of this.#changes.filter(({ fromMs }) => fromMs <= ms)) {
      this.#begin(change, Math.max(change.fromMs, this.#atMs));
    }
    this.#changes = this.#changes.filter(({ fromMs }) => fromMs > ms);
    this.#atMs = Math.max(this.#atMs, ms);
    this.#left = this.#gap();
    this.#nextMs = undefined;
    this.#advance();
  }

  /** Begins each change before which no arrival is due any more. */
  #advance(): void {
    for (;;) {
      const [change] = this.#changes;
      if (change === undefined) return;
      const startMs = Math.max(change.fromMs, this.#atMs);
      const reached = integral(this.#ramp, this.#atMs, startMs);
      if (reached > this.#left) return; // Arrivals due before the change are not taken yet.
      this.#left -= reached;
      this.#changes.shift();
      this.#begin(change, startMs);
    }
  }

  /** A change that is told late still ends on time (AR3). */
  #begin(change: Change, startMs: number): void {
    this.#begun = change;
    const endMs = Math.max(startMs, change.endMs);
    const fromRate = endMs === startMs ? change.rate : rateOf(this.#ramp, startMs);
    this.#ramp = { startMs, endMs, fromRate, toRate: change.rate };
    this.#atMs = startMs;
    this.#nextMs = undefined;
  }

  #gap(): number {
    return this.#pattern === "uniform" ? 1 : -Math.log(1 - this.#prng.next());
  }
}

interface Change {
  readonly fromMs: number;
  readonly endMs: number;
  readonly rate: number;
}

/** Linear from `startMs` to `endMs`, constant before and after. Rates are per second. */
interface Ramp {
  readonly startMs: number;
  readonly endMs: number;
  readonly fromRate: number;
  readonly toRate: number;
}

function rateOf({ startMs, endMs, fromRate, toRate }: Ramp, ms: number): number {
  if (ms >= endMs) return toRate;
  if (ms <= startMs) return fromRate;
  return fromRate + ((toRate - fromRate) * (ms - startMs)) / (endMs - startMs);
}

/** The number of arrivals between two moments; `fromMs` is not before the ramp. */
function integral(ramp: Ramp, fromMs: number, toMs: number): number {
  const bendMs = Math.min(Math.max(ramp.endMs, fromMs), toMs);
  const rising = ((rateOf(ramp, fromMs) + rateOf(ramp, bendMs)) / 2) * (bendMs - fromMs);
  return (rising + ramp.toRate * (toMs - bendMs)) / 1000;
}

/** The moment when the integral from `fromMs` on reaches `amount`. */
function reach(ramp: Ramp, fromMs: number, amount: number): number | undefined {
  const needed = amount * 1000;
  const from = rateOf(ramp, fromMs);
  if (fromMs < ramp.endMs) {
    const slope = (ramp.toRate - from) / (ramp.endMs - fromMs);
    const within = ((from + ramp.toRate) / 2) * (ramp.endMs - fromMs);
    if (needed <= within) {
      // The root of slope/2 t² + from t = needed that does not lose digits when the slope is small.
      return (
        fromMs + (2 * needed) / (from + Math.sqrt(Math.max(0, from * from + 2 * slope * needed)))
      );
    }
    return ramp.toRate > 0 ? ramp.endMs + (needed - within) / ramp.toRate : undefined;
  }
  return ramp.toRate > 0 ? fromMs + needed / ramp.toRate : undefined;
}
