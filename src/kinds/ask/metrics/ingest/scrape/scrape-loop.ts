/**
 * One target, scraped over and over.
 *
 *   SL1  Scrapes of a target never overlap, and begin at its own place in the interval.
 *   SL2  A scrape takes at most the target's timeout; one that failed or was too slow leaves stale markers and `up` 0.
 *   SL3  A target that is gone leaves stale markers, but only after two intervals, in case it comes back.
 *   SL4  After `halt` nothing is appended any more.
 */
import type { Clock, Timer } from "../../../../../ground/kernel/clock.ts";
import { messageOf } from "../../../../../ground/kernel/errors.ts";
import type { Logger } from "../../../../../ground/kernel/logger.ts";
import { scrapeOffsetMs, type Target } from "../../core/ingest/scrape/target.ts";
import { type ScrapedBody, TargetSamples } from "../../core/ingest/scrape/target-samples.ts";
import type { TargetStatus } from "../../core/ingest-service.ts";
import type { AppendOutcome, SampleBatch } from "../../core/model.ts";

export interface ScrapeLoopOptions {
  readonly target: Target;
  /** The scrape pool's name in status pages. */
  readonly pool: string;
  fetch(target: Target, signal: AbortSignal): Promise<ScrapedBody>;
  append(batch: SampleBatch): Promise<AppendOutcome>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly offsetSeed: string;
  /** Every scrape fails with it: the job has too many targets. */
  readonly forcedError: string | undefined;
  /** The loop of the same target under an earlier configuration. */
  readonly predecessor: ScrapeLoop | undefined;
}

/** Timers fire a little late; a scrape that is this close to its time is given that time, which compresses better. */
const alignmentMsMax = 2;

export class ScrapeLoop {
  readonly target: Target;
  readonly #options: ScrapeLoopOptions;
  readonly #samples: TargetSamples;
  /** Of the scrape that runs. One for each: a signal that outlives them would keep all of their bodies. */
  #aborter: AbortController | undefined;
  #timer: Timer | undefined;
  #isHalted = false;
  /** Of the next scrape: monotonic, and by the wall. */
  #dueMs = 0;
  #dueWallMs = 0;
  #scrapedOnce = false;
  #health: TargetStatus["health"] = "unknown";
  #lastError = "";
  #lastScrapeMs: number | undefined;
  #lastDurationMs: number | undefined;

  constructor(options: ScrapeLoopOptions) {
    this.#options = options;
    this.target = options.target;
    this.#samples = new TargetSamples(options.target);
    if (options.predecessor !== undefined) this.#samples.adopt(options.predecessor.#samples);
  }

  get forcedError(): string | undefined {
    return this.#options.forcedError;
  }

  start(): void {
    const { clock, offsetSeed } = this.#options;
    const { intervalMs } = this.target;
    const wallMs = clock.wallMs();
    const offsetMs = scrapeOffsetMs(this.target, offsetSeed);
    const delayMs = (intervalMs - (wallMs % intervalMs) + offsetMs) % intervalMs;
    this.#dueMs = clock.nowMs() + delayMs;
    this.#dueWallMs = wallMs + delayMs;
    this.#arm();
  }

  status(): TargetStatus {
    const { labels, discovered, url, intervalMs, timeoutMs } = this.target;
    return {
      pool: this.#options.pool,
      url,
      discoveredLabels: discovered.toRecord(),
      labels: labels.toRecord(),
      health: this.#health,
      lastError: this.#lastError,
      lastScrapeMs: this.#lastScrapeMs,
      lastDurationMs: this.#lastDurationMs,
      intervalMs,
      timeoutMs,
    };
  }

  /** No more scrapes; one that runs is given up, without a trace. */
  halt(): void {
    this.#isHalted = true;
    this.#timer?.cancel();
    this.#aborter?.abort();
  }

  /**
   * The target is gone. Its markers are written when two more scrapes would have been due, unless `isBack` says then
   * that it is scraped again, or the timer that is returned is cancelled.
   */
  retire(isBack: () => boolean): Timer {
    this.halt();
    const { clock } = this.#options;
    const { intervalMs } = this.target;
    const staleWallMs = this.#dueWallMs;
    const waitMs = this.#dueMs - clock.nowMs() + intervalMs * 1.1; // Like Prometheus: just over.
    return clock.after(waitMs, () => {
      if (isBack() || !this.#scrapedOnce) return;
      const batch = this.#samples.endMarkers(staleWallMs);
      if (batch !== undefined) void this.#append(batch);
    });
  }

  #arm(): void {
    const { clock } = this.#options;
    this.#timer = clock.after(this.#dueMs - clock.nowMs(), () => void this.#turn());
  }

  async #turn(): Promise<void> {
    await this.#scrape(this.#scrapeTime());
    if (this.#isHalted) return;
    const { clock } = this.#options;
    const { intervalMs } = this.target;
    const turns = Math.max(1, Math.ceil((clock.nowMs() - this.#dueMs) / intervalMs));
    this.#dueMs += turns * intervalMs; // SL1: those that were missed are not made up for.
    this.#dueWallMs += turns * intervalMs;
    this.#arm();
  }

  #scrapeTime(): number {
    const wallMs = this.#options.clock.wallMs();
    const toleranceMs = Math.min(alignmentMsMax, this.target.intervalMs / 100);
    if (Math.abs(wallMs - this.#dueWallMs) <= toleranceMs) return this.#dueWallMs;
    this.#dueWallMs = wallMs; // The wall clock was set, or the machine slept: from now on by this.
    return wallMs;
  }

  async #scrape(atMs: number): Promise<void> {
    const { clock } = this.#options;
    const startedMs = clock.nowMs();
    const scraped = await this.#fetch();
    if (this.#isHalted) return; // SL4
    const durationMs = clock.nowMs() - startedMs;
    const outcome = this.#samples.digest(scraped, atMs, durationMs);
    this.#scrapedOnce = true;
    await this.#append(outcome.batch); // Before the status: who sees it up also finds its samples.
    this.#health = outcome.error === "" ? "up" : "down";
    this.#lastError = outcome.error;
    this.#lastScrapeMs = atMs;
    this.#lastDurationMs = durationMs;
    if (outcome.duplicateCount > 0) {
      const fields = { target: this.target.url, num_dropped: outcome.duplicateCount };
      this.#options.logger.warn(fields, "a scrape had series more than once");
    }
  }

  async #fetch(): Promise<ScrapedBody | { readonly failure: string }> {
    const { forcedError, clock } = this.#options;
    if (forcedError !== undefined) return { failure: forcedError };
    const aborter = new AbortController();
    this.#aborter = aborter;
    let isLate: boolean = false;
    const timer = clock.after(this.target.timeoutMs, () => {
      isLate = true;
      aborter.abort();
    });
    const givenUp = new Promise<never>((_, reject) => {
      aborter.signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
    });
    givenUp.catch(() => undefined);
    try {
      // A fetch that does not heed its signal is left behind.
      return await Promise.race([this.#options.fetch(this.target, aborter.signal), givenUp]);
    } catch (thrown) {
      const failure = isLate ? "context deadline exceeded" : messageOf(thrown);
      return { failure: `Get ${JSON.stringify(this.target.url)}: ${failure}` };
    } finally {
      timer.cancel();
      this.#aborter = undefined;
    }
  }

  async #append(batch: SampleBatch): Promise<void> {
    const { logger, append } = this.#options;
    try {
      const { conflicts, tooOld, tooNew, firstProblem } = await append(batch);
      if (conflicts + tooOld + tooNew === 0) return;
      const fields = { target: this.target.url, num_dropped: conflicts + tooOld + tooNew };
      logger.warn(fields, `samples of a scrape were refused: ${firstProblem ?? ""}`);
    } catch (thrown) {
      logger.error({ target: this.target.url }, `a scrape was lost: ${messageOf(thrown)}`);
    }
  }
}
