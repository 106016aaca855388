/**
 * Scrapes one target repeatedly. Rules: IN14, IN16, IN17. After `halt` nothing is appended any
 * more.
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
  /** The name of the scrape pool in status pages. */
  readonly pool: string;
  fetch(target: Target, signal: AbortSignal): Promise<ScrapedBody>;
  append(batch: SampleBatch): Promise<AppendOutcome>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly offsetSeed: string;
  /** If set, every scrape fails with it, because the job has too many targets. */
  readonly forcedError: string | undefined;
  /** The loop of the same target under an earlier configuration. */
  readonly predecessor: ScrapeLoop | undefined;
}

/** A scrape at most this late gets its scheduled time, which compresses better. */
const alignmentMsMax = 2;

export class ScrapeLoop {
  readonly target: Target;
  readonly #options: ScrapeLoopOptions;
  readonly #samples: TargetSamples;
  /** Aborts the running scrape. A shared signal would keep the bodies of all scrapes alive. */
  #aborter: AbortController | undefined;
  #timer: Timer | undefined;
  #isHalted = false;
  /** When the next scrape is due, by the monotonic clock and by the wall clock. */
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

  /** Stops scraping; a running scrape is abandoned and appends nothing. */
  halt(): void {
    this.#isHalted = true;
    this.#timer?.cancel();
    this.#aborter?.abort();
  }

  /**
   * Called when the target is gone. Writes its stale markers when two more scrapes would have been
   * due, unless `isBack` returns true then or the returned timer is cancelled.
   */
  retire(isBack: () => boolean): Timer {
    this.halt();
    const { clock } = this.#options;
    const { intervalMs } = this.target;
    const staleWallMs = this.#dueWallMs;
    // Just over one more interval, like Prometheus.
    const waitMs = this.#dueMs - clock.nowMs() + intervalMs * 1.1;
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
    this.#dueMs += turns * intervalMs; // Missed scrapes are not made up for.
    this.#dueWallMs += turns * intervalMs;
    this.#arm();
  }

  #scrapeTime(): number {
    const wallMs = this.#options.clock.wallMs();
    const toleranceMs = Math.min(alignmentMsMax, this.target.intervalMs / 100);
    if (Math.abs(wallMs - this.#dueWallMs) <= toleranceMs) return this.#dueWallMs;
    // The wall clock was set, or the machine slept: continue from the new time.
    this.#dueWallMs = wallMs;
    return wallMs;
  }

  async #scrape(atMs: number): Promise<void> {
    const { clock } = this.#options;
    const startedMs = clock.nowMs();
    const scraped = await this.#fetch();
    if (this.#isHalted) return;
    const durationMs = clock.nowMs() - startedMs;
    const outcome = this.#samples.digest(scraped, atMs, durationMs);
    this.#scrapedOnce = true;
    // Before the status, so that a target shown as up has its samples.
    await this.#append(outcome.batch);
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
      // A fetch that ignores its signal is abandoned.
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
