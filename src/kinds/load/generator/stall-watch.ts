/**
 * How long single connections of a closed loop waited for an answer. While one of them waits, the
 * others go on: what fails or hangs there is few operations, whatever share of the connections it
 * is. Rules: SI5.
 */
import { Histogram } from "../core/histogram.ts";

/** Shorter waits are normal operations. */
const stallMsMin = 1_000;

/** A connection that waits now. */
export interface Unanswered {
  readonly sinceMs: number;
  readonly operation: number;
}

export class StallWatch {
  readonly #names: readonly string[];
  readonly #stalls = new Map<number, Histogram>();
  #isMeasuring: boolean;
  #measuredSinceMs: number;
  #connections = 0;
  #connectionMs = 0;
  #countedMs: number;

  /** `names` are those of the operations. */
  constructor(names: readonly string[], nowMs: number, isMeasuring: boolean) {
    this.#names = names;
    this.#isMeasuring = isMeasuring;
    this.#measuredSinceMs = nowMs;
    this.#countedMs = nowMs;
  }

  /** Sets the number of wanted connections from now on. */
  want(nowMs: number, connections: number): void {
    this.#count(nowMs);
    this.#connections = connections;
  }

  /** Stalls count from now on, or no longer. */
  enter(nowMs: number, isMeasuring: boolean, unanswered: Iterable<Unanswered>): void {
    if (isMeasuring === this.#isMeasuring) return;
    for (const each of unanswered) this.#record(this.#stalls, each, nowMs);
    this.#count(nowMs);
    this.#isMeasuring = isMeasuring;
    this.#measuredSinceMs = nowMs;
  }

  answered(sinceMs: number, operation: number, nowMs: number): void {
    if (nowMs - sinceMs < stallMsMin) return;
    this.#record(this.#stalls, { sinceMs, operation }, nowMs);
  }

  /** Includes the current stalls. */
  answering(
    nowMs: number,
    unanswered: Iterable<Unanswered>,
  ): { readonly connection_ms: number; readonly stalls: Readonly<Record<string, string>> } {
    this.#count(nowMs);
    const last = new Map<number, Histogram>();
    for (const each of unanswered) this.#record(last, each, nowMs);
    const stalls: Record<string, string> = {};
    for (const [operation, name] of this.#names.entries()) {
      const all = new Histogram();
      for (const each of [this.#stalls.get(operation), last.get(operation)]) {
        if (each !== undefined) all.merge(each);
      }
      if (all.count > 0) stalls[name] = all.encode();
    }
    return { connection_ms: this.#connectionMs, stalls };
  }

  #count(nowMs: number): void {
    const passedMs = Math.max(0, nowMs - this.#countedMs);
    if (this.#isMeasuring) this.#connectionMs += passedMs * this.#connections;
    this.#countedMs = Math.max(this.#countedMs, nowMs);
  }

  #record(into: Map<number, Histogram>, { sinceMs, operation }: Unanswered, nowMs: number): void {
    const lengthMs = nowMs - Math.max(sinceMs, this.#measuredSinceMs);
    if (!this.#isMeasuring || lengthMs < stallMsMin) return;
    const histogram = into.get(operation) ?? new Histogram();
    into.set(operation, histogram);
    histogram.record(lengthMs * 1000);
  }
}
