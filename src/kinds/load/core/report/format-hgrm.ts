/**
 * The percentile distribution as HdrHistogram prints it (`.hgrm`), which its plotter and many tools
 * read. Values are milliseconds. Five lines to each half of what is left, up to the greatest value.
 * The last line says how exact it is: a run's final percentiles are of single records, and may
 * differ by so much.
 */
import type { Histogram } from "../histogram.ts";

const ticksPerHalf = 5;

export function formatHgrm(histogram: Histogram): string {
  const lines = [header(), ""];
  for (const share of shares(histogram.count)) {
    const us = share === 1 ? histogram.maxUs : histogram.percentileUs(share);
    const upTo = share === 1 ? histogram.count : histogram.countUpTo(us ?? 0);
    const rest = share === 1 ? "" : ` ${(1 / (1 - share)).toFixed(2).padStart(14)}`;
    lines.push(`${ms(us ?? 0)} ${share.toFixed(12)} ${String(upTo).padStart(10)}${rest}`);
  }
  const mean = histogram.meanUs ?? 0;
  lines.push(
    `#[Mean    = ${ms(mean)}, StdDeviation   = ${ms(deviationOf(histogram, mean))}]`,
    `#[Max     = ${ms(histogram.maxUs ?? 0)}, Total count    = ${String(histogram.count).padStart(12)}]`,
    `#[Buckets = ${"25".padStart(12)}, SubBuckets     = ${"256".padStart(12)}]`,
    "#[Values are of a histogram, within 0.4 %; the run's final percentiles are of its records]",
  );
  return `${lines.join("\n")}\n`;
}

function header(): string {
  const names = ["Value".padStart(12), "Percentile".padStart(14), "TotalCount".padStart(10)];
  return `${names.join(" ")} ${"1/(1-Percentile)".padStart(14)}`;
}

/** From 0 on, finer towards 1, and 1 itself. */
function* shares(count: number): Iterable<number> {
  if (count === 0) return;
  let share = 0;
  while (share < 1 - 1 / count) {
    yield share;
    const halves = Math.floor(Math.log2(1 / (1 - share))) + 1;
    share += 1 / (ticksPerHalf * 2 ** halves);
  }
  yield 1;
}

function deviationOf(histogram: Histogram, mean: number): number {
  let sum = 0;
  for (const { lowUs, highUs, count } of histogram.buckets()) {
    sum += count * ((lowUs + highUs - 1) / 2 - mean) ** 2;
  }
  return histogram.count === 0 ? 0 : Math.sqrt(sum / histogram.count);
}

function ms(us: number): string {
  return (us / 1_000).toFixed(3).padStart(12);
}
