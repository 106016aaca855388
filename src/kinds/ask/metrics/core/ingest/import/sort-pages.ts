/**
 * Sorts pages of samples, given in order of arrival, by series and time. A counting sort by series:
 * it is linear and stable, so that of two samples with the same time the first stays.
 */
import type { SampleColumns } from "../../../../promql/core/index.ts";
import type { SamplePage } from "./sample-page.ts";

/** The final position of each series, and whether it is wanted in this pass. */
export interface SeriesRanks {
  /** Indexed by the parser's number. Equal series have equal ranks. */
  readonly rankOf: Uint32Array;
  readonly rankCount: number;
}

export interface SortedSeries {
  readonly rank: number;
  readonly samples: SampleColumns;
}

/** Selects samples from `minTs` up to, not including, `endTs`. */
export interface SortFilter {
  readonly minTs: number;
  readonly endTs: number;
  /** Has 1 at each wanted rank. Undefined when all ranks are wanted. */
  readonly wanted: Uint8Array | undefined;
}

export interface SortResult {
  readonly series: readonly SortedSeries[];
  /** Samples left out because an earlier one had the same time. */
  readonly droppedCount: number;
}

export function sortPages(
  pages: readonly SamplePage[],
  { rankOf, rankCount }: SeriesRanks,
  filter: SortFilter,
): SortResult {
  const ends = countByRank(pages, rankOf, rankCount, filter);
  const total = ends[rankCount] as number;
  const ts = new Float64Array(total);
  const values = new Float64Array(total);
  const hasStart = pages.some(({ startTs }) => startTs !== undefined);
  const startTs = hasStart ? new Float64Array(total) : undefined;
  scatter(pages, rankOf, filter, ends, { ts, values, startTs });
  // `scatter` moved each rank's position from its start to its end.
  const series: SortedSeries[] = [];
  let droppedCount = 0;
  let from = 0;
  for (let rank = 0; rank < rankCount; rank += 1) {
    const to = ends[rank] as number;
    if (to === from) continue;
    const samples = inOrder({
      count: to - from,
      ts: ts.subarray(from, to),
      values: values.subarray(from, to),
      startTs: startTs?.subarray(from, to),
      stale: undefined,
      histograms: undefined,
    });
    droppedCount += to - from - samples.count;
    series.push({ rank, samples });
    from = to;
  }
  return { series, droppedCount };
}

/** Where the samples of each rank start, followed by the total count. */
function countByRank(
  pages: readonly SamplePage[],
  rankOf: Uint32Array,
  rankCount: number,
  { minTs, endTs, wanted }: SortFilter,
): Uint32Array {
  const counts = new Uint32Array(rankCount + 1);
  for (const { count, series, ts } of pages) {
    for (let index = 0; index < count; index += 1) {
      const time = ts[index] as number;
      if (time < minTs || time >= endTs) continue;
      const rank = rankOf[series[index] as number] as number;
      if (wanted === undefined || wanted[rank] === 1) counts[rank] = (counts[rank] as number) + 1;
    }
  }
  let start = 0;
  for (let rank = 0; rank <= rankCount; rank += 1) {
    const count = counts[rank] as number;
    counts[rank] = start;
    start += count;
  }
  return counts;
}

function scatter(
  pages: readonly SamplePage[],
  rankOf: Uint32Array,
  { minTs, endTs, wanted }: SortFilter,
  positions: Uint32Array,
  out: { ts: Float64Array; values: Float64Array; startTs: Float64Array | undefined },
): void {
  for (const { count, series, ts, values, startTs } of pages) {
    for (let index = 0; index < count; index += 1) {
      const time = ts[index] as number;
      if (time < minTs || time >= endTs) continue;
      const rank = rankOf[series[index] as number] as number;
      if (wanted !== undefined && wanted[rank] !== 1) continue;
      const to = positions[rank] as number;
      positions[rank] = to + 1;
      out.ts[to] = time;
      out.values[to] = values[index] as number;
      if (startTs !== undefined && out.startTs !== undefined) {
        out.startTs[to] = startTs[index] as number;
      }
    }
  }
}

/** Sorts the samples strictly ascending in time. Most files are sorted already. */
function inOrder(samples: SampleColumns): SampleColumns {
  const { count, ts } = samples;
  let isOrdered = true;
  for (let index = 1; index < count && isOrdered; index += 1) {
    isOrdered = (ts[index - 1] as number) < (ts[index] as number);
  }
  return isOrdered ? withoutZeroStarts(samples) : withoutZeroStarts(reordered(samples));
}

function reordered({ count, ts, values, startTs }: SampleColumns): SampleColumns {
  const order = Uint32Array.from({ length: count }, (_, index) => index);
  order.sort((a, b) => (ts[a] as number) - (ts[b] as number) || a - b);
  const kept = order.filter((index, at) => at === 0 || ts[order[at - 1] as number] !== ts[index]);
  return {
    count: kept.length,
    ts: Float64Array.from(kept, (index) => ts[index] as number),
    values: Float64Array.from(kept, (index) => values[index] as number),
    startTs:
      startTs === undefined
        ? undefined
        : Float64Array.from(kept, (index) => startTs[index] as number),
    stale: undefined,
    histograms: undefined,
  };
}

function withoutZeroStarts(samples: SampleColumns): SampleColumns {
  const { startTs } = samples;
  if (startTs === undefined || startTs.some((start) => start !== 0)) return samples;
  return { ...samples, startTs: undefined };
}
