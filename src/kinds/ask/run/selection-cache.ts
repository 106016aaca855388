/**
 * Caches selections: the series of one shard that a selector matches, assembled over all segments
 * that a query reads. A dashboard repeats a query over the same segments with its window moved by a
 * step; then only the computing remains, and the head's newest samples are appended to the cached
 * ones.
 * A selection has every sample of its segments, and its own samples never change; the reader cuts
 * them to its time range.
 */
import { type CollectRequest, iterateSeries, type SegmentReader } from "../metrics/index.ts";
import { compareLabels, matcherSetKey, type RawSeries } from "../promql/core/index.ts";
import type { MemoryColumnCache } from "./column-cache.ts";
import { type KeptSeries, KeptSeriesBuilder } from "./kept-series.ts";

/**
 * The minimum share of the time range of the segments that is used. A smaller part is cheaper to
 * assemble again than the whole is to keep.
 */
const usedShareMin = 0.5;
/** The maximum share of the cache for one selection. */
const selectionShareMax = 0.5;
const allTime = { minMs: Number.NEGATIVE_INFINITY, maxMs: Number.POSITIVE_INFINITY };

export class SelectionCache {
  readonly #cache: MemoryColumnCache;
  #work = 0;

  constructor(cache: MemoryColumnCache) {
    this.#cache = cache;
  }

  /** Like `iterateSeries`, but a series may have samples outside the requested time range. */
  series(
    readers: readonly SegmentReader[],
    headSeries: readonly RawSeries[],
    request: CollectRequest,
    checkStop: () => void,
  ): Iterable<RawSeries> {
    if (!isWorthKeeping(readers, request)) return iterateSeries(readers, headSeries, request);
    const key = keyOf(readers, request);
    let kept = this.#cache.find(key) as readonly KeptSeries[] | undefined;
    if (kept === undefined) {
      const bytesMax = this.#cache.bytesMax * selectionShareMax;
      const [collected, columns] = this.#cache.noteColumns(() =>
        collect(readers, request, bytesMax, checkStop),
      );
      if (collected === undefined) return iterateSeries(readers, headSeries, request);
      kept = collected.finish();
      this.#cache.demote(columns); // They are in memory twice now.
      this.#cache.keep(key, kept, collected.bytes);
    }
    this.#work += 1;
    return headSeries.length === 0 ? kept : withHead(kept, headSeries, request, this.#work);
  }
}

/** The series of a single segment are views already. */
function isWorthKeeping(readers: readonly SegmentReader[], { range }: CollectRequest): boolean {
  if (readers.length < 2) return false;
  let minTs = Number.POSITIVE_INFINITY;
  let maxTs = Number.NEGATIVE_INFINITY;
  for (const { info } of readers) {
    minTs = Math.min(minTs, info.minTs);
    maxTs = Math.max(maxTs, info.maxTs);
  }
  const used = Math.min(maxTs, range.maxMs) - Math.max(minTs, range.minMs);
  return used >= (maxTs - minTs) * usedShareMin;
}

function keyOf(readers: readonly SegmentReader[], request: CollectRequest): string {
  const { matchers, shard, shardCount } = request;
  const ids = readers.map(({ info }) => info.segmentId).sort();
  return `selection ${shard}.${shardCount} ${matcherSetKey(matchers)} ${ids.join(" ")}`;
}

/** Returns undefined when the selection is too large to be kept. */
function collect(
  readers: readonly SegmentReader[],
  request: CollectRequest,
  bytesMax: number,
  checkStop: () => void,
): KeptSeriesBuilder | undefined {
  const kept = new KeptSeriesBuilder();
  const whole = { ...request, range: allTime, reuseColumns: true };
  for (const series of iterateSeries(readers, [], whole)) {
    checkStop();
    kept.add(series);
    if (kept.bytes > bytesMax) return undefined;
  }
  return kept;
}

/** Both inputs and the output are in label order. */
function* withHead(
  kept: readonly KeptSeries[],
  headSeries: readonly RawSeries[],
  request: CollectRequest,
  work: number,
): Generator<RawSeries> {
  const heads = [...iterateSeries([], headSeries, request)];
  let at = 0;
  for (const series of kept) {
    let head = heads[at];
    while (head !== undefined && compareLabels(head.labels, series.labels) < 0) {
      yield head;
      at += 1;
      head = heads[at];
    }
    if (head !== undefined && head.labels.key === series.labels.key) {
      at += 1;
      yield series.followedBy(head.samples, work);
    } else {
      yield series;
    }
  }
  yield* heads.slice(at);
}
