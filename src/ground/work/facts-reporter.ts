/** What a worker reports about itself: only noticeable changes, so that heartbeats stay small. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { type Clock, repeat, type Timer } from "../kernel/clock.ts";
import { ownTreeMemory } from "../kernel/node/process-memory.ts";
import type { WorkerCounts } from "./core/index.ts";

export interface FactsSink {
  setFact(key: string, value: string): void;
}

export interface FactsSources {
  counts(): Omit<WorkerCounts, "ready">;
  spool(): { readonly usedBytes: number; readonly freeBytes: number };
}

const intervalMs = 1_000;
const memoryEvery = 5;

export class FactsReporter {
  readonly #clock: Clock;
  readonly #sink: FactsSink;
  readonly #sources: FactsSources;
  readonly #cores: number;
  readonly #startMs: number;
  readonly #loop = monitorEventLoopDelay({ resolution: 20 });
  #cpu = process.cpuUsage();
  #cpuAtMs: number;
  #timer: Timer | undefined;
  #memory = process.memoryUsage.rss();
  #reportCount = 0;

  /** `cores` of the machine: all of them busy is a ratio of 1. */
  constructor(clock: Clock, sink: FactsSink, sources: FactsSources, cores: number) {
    this.#clock = clock;
    this.#sink = sink;
    this.#sources = sources;
    this.#cores = cores;
    this.#startMs = clock.nowMs();
    this.#cpuAtMs = this.#startMs;
  }

  start(): void {
    this.#loop.enable();
    this.#report();
    this.#timer = repeat(this.#clock, intervalMs, () => this.#report());
  }

  stop(): void {
    this.#timer?.cancel();
    this.#loop.disable();
  }

  #report(): void {
    for (const [key, value] of Object.entries(this.#facts())) this.#sink.setFact(key, value);
  }

  #facts(): Record<string, string> {
    const counts = this.#sources.counts();
    const { usedBytes, freeBytes } = this.#sources.spool();
    const loopDelayMs = this.#loop.percentile(99) / 1e6;
    this.#loop.reset();
    return {
      cpu_ratio: this.#cpuRatio().toFixed(2),
      memory_bytes: String(roundTo(this.#memoryBytes(), 1024 * 1024)),
      event_loop_delay_ms: Math.max(0, loopDelayMs - 20).toFixed(0),
      queue_depth: String(counts.queued),
      queue_oldest_ms: String(Math.round(counts.oldestQueuedMs)),
      running_work: String(counts.executing),
      completed_work_total: String(counts.completedTotal),
      failed_work_total: String(counts.failedTotal),
      spool_bytes: String(usedBytes),
      spool_free_bytes: String(roundTo(freeBytes, 16 * 1024 * 1024)),
      uptime_ms: String(roundTo(this.#clock.nowMs() - this.#startMs, 10_000)),
    };
  }

  /**
   * The memory of this process and, where known, its descendants. Read less often, because it costs
   * some milliseconds.
   */
  #memoryBytes(): number {
    if (this.#reportCount % memoryEvery === 0) {
      void ownTreeMemory.bytes().then((bytes) => {
        this.#memory = bytes ?? process.memoryUsage.rss();
      });
    }
    this.#reportCount += 1;
    return this.#memory;
  }

  /** The share of the machine that this process used since the last report: 1 is every core. */
  #cpuRatio(): number {
    const nowMs = this.#clock.nowMs();
    const { user, system } = process.cpuUsage(this.#cpu);
    this.#cpu = process.cpuUsage();
    const elapsedMs = Math.max(1, nowMs - this.#cpuAtMs);
    this.#cpuAtMs = nowMs;
    return Math.min(1, (user + system) / 1000 / elapsedMs / this.#cores);
  }
}

function roundTo(value: number, unit: number): number {
  return Math.floor(value / unit) * unit;
}
