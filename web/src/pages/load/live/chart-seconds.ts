/**
 * The last minutes of a run, second by second, for its charts. Pure.
 * Each second occurs once, in order, and their number is bounded. Stored seconds take precedence
 * over live ones, which have no percentiles of a single second. Missing seconds are gaps in a line.
 */
import type { RunSecond, RunUpdate } from "../../../api/gen/types.ts";

export interface ChartSecond {
  readonly atMs: number;
  readonly qps: number;
  readonly targetQps: number | null;
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly p99Ms: number | null;
  readonly isStored: boolean;
}

export const secondsMax = 300;
const gapMs = 3_500;

export function storedSecond(row: RunSecond): ChartSecond {
  return {
    atMs: row.timestamp_ms,
    qps: row.qps,
    targetQps: null,
    p50Ms: row.interval_p50_ms,
    p95Ms: row.interval_p95_ms,
    p99Ms: row.interval_p99_ms,
    isStored: true,
  };
}

export function liveSecond(update: Pick<RunUpdate, "timestamp" | "run">): ChartSecond {
  const { qps, target_qps: targetQps } = update.run.aggregate_metrics;
  const atMs = Date.parse(update.timestamp);
  return { atMs, qps, targetQps, p50Ms: null, p95Ms: null, p99Ms: null, isStored: false };
}

export function mergeSeconds(
  before: readonly ChartSecond[],
  added: readonly ChartSecond[],
): readonly ChartSecond[] {
  const bySecond = new Map(before.map((each) => [secondOf(each), each]));
  for (const each of added) {
    const known = bySecond.get(secondOf(each));
    if (known?.isStored === true && !each.isStored) {
      bySecond.set(secondOf(each), { ...known, targetQps: each.targetQps });
    } else {
      bySecond.set(secondOf(each), {
        ...each,
        targetQps: each.targetQps ?? known?.targetQps ?? null,
      });
    }
  }
  return [...bySecond.values()].sort((a, b) => a.atMs - b.atMs).slice(-secondsMax);
}

/** The newest stored second; later ones are requested next. */
export function lastStoredMs(seconds: readonly ChartSecond[]): number | undefined {
  return seconds.findLast(({ isStored }) => isStored)?.atMs;
}

export type Columns = readonly [times: number[], ...values: (number | null)[][]];

/**
 * Times in seconds, and a column for each of `pick`. Times without any picked value are left out.
 */
export function columnsOf(
  seconds: readonly ChartSecond[],
  picks: readonly ((second: ChartSecond) => number | null)[],
): Columns {
  const columns: Columns = [[], ...picks.map(() => [])];
  let beforeMs: number | undefined;
  for (const second of seconds) {
    const values = picks.map((pick) => pick(second));
    if (values.every((value) => value === null)) continue;
    if (beforeMs !== undefined && second.atMs - beforeMs > gapMs) {
      append(
        columns,
        (beforeMs + second.atMs) / 2_000,
        picks.map(() => null),
      );
    }
    append(columns, second.atMs / 1_000, values);
    beforeMs = second.atMs;
  }
  return columns;
}

function append(
  [times, ...columns]: Columns,
  time: number,
  values: readonly (number | null)[],
): void {
  times.push(time);
  for (const [index, value] of values.entries()) columns[index]?.push(value);
}

function secondOf({ atMs }: ChartSecond): number {
  return Math.floor(atMs / 1_000);
}
