/** Converts a run's rows of each second for charts. Pure. */
import type { RunSecond, ServerPoll, WorkerSecond } from "../../../api/gen/types.ts";

export interface RunSeries {
  /** Seconds since the load began. */
  readonly x: readonly number[];
  readonly qps: readonly number[];
  readonly errors: readonly number[];
  readonly p50: readonly (number | null)[];
  readonly p95: readonly (number | null)[];
  readonly p99: readonly (number | null)[];
  /** Where the MEASUREMENT phase begins; 0 without a warm-up. */
  readonly measuredFrom: number;
}

/** Time begins with the first second of load, without preparing and ending. */
export function seriesOf(seconds: readonly RunSecond[]): RunSeries {
  const loaded = seconds.filter(({ phase }) => phase === "WARMUP" || phase === "MEASUREMENT");
  const startMs = loadStartMs(seconds) ?? 0;
  const x = loaded.map(({ timestamp_ms: atMs }) => (atMs - startMs) / 1000);
  const first = loaded.findIndex(({ phase }) => phase === "MEASUREMENT");
  return {
    x,
    qps: loaded.map(({ qps }) => qps),
    errors: loaded.map((second, at) => errorsPerSecond(second, loaded[at - 1])),
    p50: loaded.map(({ interval_p50_ms: ms }) => ms),
    p95: loaded.map(({ interval_p95_ms: ms }) => ms),
    p99: loaded.map(({ interval_p99_ms: ms }) => ms),
    measuredFrom: first > 0 ? (x[first] ?? 0) : 0,
  };
}

export function loadStartMs(seconds: readonly RunSecond[]): number | undefined {
  return seconds.find(({ phase }) => phase === "WARMUP" || phase === "MEASUREMENT")?.timestamp_ms;
}

/** Counts restart with each phase. */
function errorsPerSecond(second: RunSecond, before: RunSecond | undefined): number {
  const isSame = before?.phase === second.phase;
  const earlier = isSame ? before.error_count : 0;
  const tookMs = before === undefined ? 1_000 : second.timestamp_ms - before.timestamp_ms;
  return (Math.max(0, second.error_count - earlier) / Math.max(1, tookMs)) * 1_000;
}

export interface PollSeries {
  readonly x: readonly number[];
  readonly running: readonly (number | null)[];
  readonly queued: readonly (number | null)[];
}

/** Uses the same time axis as the run's own series. */
export function pollSeriesOf(
  polls: readonly ServerPoll[],
  seconds: readonly RunSecond[],
): PollSeries {
  const startMs = loadStartMs(seconds) ?? polls[0]?.timestamp_ms ?? 0;
  const loaded = polls.filter(({ timestamp_ms: atMs }) => atMs >= startMs);
  return {
    x: loaded.map(({ timestamp_ms: atMs }) => (atMs - startMs) / 1000),
    running: loaded.map(({ running }) => running),
    queued: loaded.map(({ queued }) => queued),
  };
}

export interface WorkerHistory {
  readonly qps: readonly number[];
  readonly cpuPercentMax: number | null;
  readonly loopDelayMsMax: number | null;
}

export function workerHistories(
  seconds: readonly WorkerSecond[],
): ReadonlyMap<string, WorkerHistory> {
  const byWorker = Map.groupBy(seconds, ({ worker_id: id }) => id);
  return new Map(
    [...byWorker].map(([id, own]) => [
      id,
      {
        qps: own.map(({ qps }) => qps),
        cpuPercentMax: most(own.map(({ cpu_percent: percent }) => percent)),
        loopDelayMsMax: most(
          own.map(({ custom_metrics: { health } }) => health?.event_loop_delay_ms_p99),
        ),
      },
    ]),
  );
}

function most(values: readonly (number | null | undefined)[]): number | null {
  const known = values.filter((value) => typeof value === "number");
  return known.length === 0 ? null : Math.max(...known);
}

/** `12 s`, `1:30`, `1:02:03`. */
export function formatElapsed(seconds: number): string {
  if (Math.abs(seconds) < 60) return `${Number(seconds.toFixed(1))} s`;
  const whole = Math.round(seconds);
  const pad = (part: number): string => String(part).padStart(2, "0");
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes}:${pad(whole % 60)}`;
  return `${Math.floor(minutes / 60)}:${pad(minutes % 60)}:${pad(whole % 60)}`;
}
