/**
 * When the target answered. A silence is a stretch in which something was wanted of the target and
 * nothing succeeded. Rules: SI1 to SI4 and SI7.
 */
import { Histogram, mergeHistograms } from "../core/histogram.ts";
import type { Answering } from "../core/worker-snapshot.ts";

/** Shorter silences are normal gaps between answers. */
const silenceMsMin = 100;

export class SilenceWatch {
  readonly #silences = new Histogram();
  /** The silences in which a connection could not be opened (SI4). */
  readonly #outages = new Histogram();
  #isRefused = false;
  /** The length of the silence that the end of the phase cut; 0 after a later answer (SI7). */
  #cutMs = 0;
  #isMeasuring: boolean;
  #measuredSinceMs: number;
  #measuredMs = 0;
  /**
   * Since when nothing succeeded although something was wanted. Undefined when nothing is wanted.
   */
  #sinceMs: number | undefined;
  /** After a failure: since when nothing was wanted, and since when something is wanted again. */
  #idleMs: number | undefined;
  #resumedMs: number | undefined;
  /** When the generator woke from its last sleep. */
  #awakeMs = -Infinity;

  constructor(nowMs: number, isMeasuring: boolean) {
    this.#isMeasuring = isMeasuring;
    this.#measuredSinceMs = nowMs;
  }

  /** Silences count from now on, or no longer. */
  enter(nowMs: number, isMeasuring: boolean): void {
    if (isMeasuring === this.#isMeasuring) return;
    if (this.#isMeasuring) {
      // A silence with a refused connection is already kept.
      this.#cutMs = this.#isRefused ? 0 : this.#lengthMs(nowMs);
      this.#end(nowMs);
      this.#measuredMs += nowMs - this.#measuredSinceMs;
    }
    this.#isMeasuring = isMeasuring;
    this.#isRefused = false;
    this.#measuredSinceMs = nowMs;
    if (this.#sinceMs !== undefined) this.#sinceMs = nowMs;
    this.#idleMs = undefined;
    this.#resumedMs = undefined;
  }

  /** Something is wanted since `sinceMs`, without the time in which the generator slept (SI3). */
  want(sinceMs: number): void {
    const nowMs = Math.max(sinceMs, this.#awakeMs);
    if (this.#sinceMs === undefined) this.#sinceMs = nowMs;
    else if (this.#idleMs !== undefined && this.#resumedMs === undefined) this.#resumedMs = nowMs;
  }

  answered(nowMs: number, isWanted: boolean): void {
    if (this.#isMeasuring) this.#end(nowMs);
    this.#isRefused = false;
    this.#cutMs = 0;
    this.#sinceMs = isWanted ? nowMs : undefined;
    this.#idleMs = undefined;
    this.#resumedMs = undefined;
  }

  failed(nowMs: number, isWanted: boolean): void {
    this.#sinceMs ??= nowMs;
    this.#idleMs = isWanted ? undefined : nowMs; // SI2
    this.#resumedMs = undefined;
  }

  /** Notes that a connection could not be opened (SI4). */
  refused(): void {
    this.#isRefused = true;
  }

  /** Notes that draining is over (SI7). */
  drained(): void {
    if (this.#cutMs >= silenceMsMin) this.#outages.record(this.#cutMs * 1000);
    this.#cutMs = 0;
  }

  /** Excludes the time in which the generator slept (SI3). */
  slept(fromMs: number, toMs: number): void {
    this.#awakeMs = toMs;
    if (this.#sinceMs === undefined) return;
    this.#sinceMs = this.#sinceMs <= fromMs ? this.#sinceMs + (toMs - fromMs) : toMs;
  }

  /** Includes the current silence. */
  answering(nowMs: number): Answering {
    const [last, lastOutage] = [new Histogram(), new Histogram()];
    if (this.#isMeasuring) this.#record(nowMs, last, lastOutage);
    const sinceMs = this.#isMeasuring ? nowMs - this.#measuredSinceMs : 0;
    return {
      measured_ms: this.#measuredMs + sinceMs,
      silences: mergeHistograms([this.#silences, last]).encode(),
      outages: mergeHistograms([this.#outages, lastOutage]).encode(),
    };
  }

  #end(nowMs: number): void {
    this.#record(nowMs, this.#silences, this.#outages);
  }

  #record(nowMs: number, silences: Histogram, outages: Histogram): void {
    const lengthMs = this.#lengthMs(nowMs);
    if (lengthMs < silenceMsMin) return;
    silences.record(lengthMs * 1000);
    if (this.#isRefused) outages.record(lengthMs * 1000);
  }

  #lengthMs(nowMs: number): number {
    if (this.#sinceMs === undefined) return 0;
    const untilMs =
      this.#idleMs !== undefined && this.#resumedMs === undefined ? this.#idleMs : nowMs;
    const idleMs =
      this.#idleMs === undefined || this.#resumedMs === undefined
        ? 0
        : this.#resumedMs - this.#idleMs;
    return Math.max(0, untilMs - this.#sinceMs - idleMs);
  }
}
