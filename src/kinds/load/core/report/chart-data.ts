/** A run's seconds as charts need them: bounded, however long it was. */
import { type Histogram, mergeHistograms } from "../histogram.ts";
import type { Bar, HeatMap } from "./charts.ts";
import type { ReportSecond } from "./run-report.ts";

export interface Moment {
  readonly time: number;
  readonly qps: number;
  readonly errorsPerSecond: number;
  readonly connections: number;
  readonly isWarmup: boolean;
  readonly response: Histogram;
}

/** Merges neighbours until at most `countMax` remain. Phases stay separate as far as possible. */
export function momentsOf(seconds: readonly ReportSecond[], countMax: number): readonly Moment[] {
  const size = Math.max(1, Math.ceil(seconds.length / countMax));
  const groups = Array.from({ length: Math.ceil(seconds.length / size) }, (_, at) =>
    seconds.slice(at * size, (at + 1) * size),
  );
  return groups.map((group) => {
    const sum = (field: "ops" | "errors" | "active_connections" | "seconds"): number =>
      group.reduce((total, second) => total + second[field], 0);
    const seconds = sum("seconds");
    return {
      time: group.at(-1)?.elapsed_seconds ?? 0,
      qps: seconds > 0 ? (sum("ops") - sum("errors")) / seconds : 0,
      errorsPerSecond: seconds > 0 ? sum("errors") / seconds : 0,
      connections: sum("active_connections") / group.length,
      isWarmup: group[0]?.phase === "WARMUP",
      response: mergeHistograms(group.map(({ response }) => response)),
    };
  });
}

/** Edges of `count` rows of equal logarithmic height that cover all values, in microseconds. */
function edgesOf(histogram: Histogram, count: number): readonly number[] {
  const low = Math.max(1, histogram.minUs ?? 1);
  const high = Math.max(low * 1.5, (histogram.maxUs ?? low) + 1);
  return Array.from({ length: count + 1 }, (_, at) => low * (high / low) ** (at / count));
}

/** Values are milliseconds. */
export function barsOf(histogram: Histogram, count = 60): readonly Bar[] {
  const edges = edgesOf(histogram, count);
  const counts = countsIn(histogram, edges);
  return counts.map((each, at) => ({
    low: (edges[at] ?? 1) / 1_000,
    high: (edges[at + 1] ?? 1) / 1_000,
    count: each,
  }));
}

export function heatMapOf(moments: readonly Moment[], rows = 40): HeatMap {
  const edges = edgesOf(mergeHistograms(moments.map(({ response }) => response)), rows);
  return {
    times: moments.map(({ time }) => time),
    edges: edges.map((us) => us / 1_000),
    counts: moments.map(({ response }) => countsIn(response, edges)),
  };
}

function countsIn(histogram: Histogram, edges: readonly number[]): number[] {
  const counts: number[] = new Array(edges.length - 1).fill(0);
  let row = 0;
  for (const { lowUs, highUs, count } of histogram.buckets()) {
    const middle = (lowUs + highUs - 1) / 2;
    while (row < counts.length - 1 && middle >= (edges[row + 1] ?? Infinity)) row += 1;
    counts[row] = (counts[row] ?? 0) + count;
  }
  return counts;
}
