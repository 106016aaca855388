/**
 * Selections: the series of one shard that a selector means, each put together over all segments that a query reads. A
 * dashboard asks the same of the same segments again and again, its window moved by a step: then there is nothing left to do but
 * the computing, and the head's newest samples are put behind what is there.
 *
 *   SC1  A selection has every sample of its segments; whoever computes cuts it to its time.
 *   SC2  A selection's own samples never change (KS1).
 *   SC3  The columns that a selection was put together from make room before anything else does.
 */
import { type CollectRequest, iterateSeries, type SegmentReader } from "../metrics/index.ts";
import { compareLabels, matcherSetKey, type RawSeries } from "../promql/core/index.ts";
import type { MemoryColumnCache } from "./column-cache.ts";
import { type KeptSeries, KeptSeriesBuilder } from "./kept-series.ts";

/** Of a segment's samples: a smaller part is cheaper to put together anew than the whole is to keep. */
const usedShareMin = 0.5;
/** Of the cache, for one selection. */
const selectionShareMax = 0.5;
const allTime = { minMs: Number.NEGATIVE_INFINITY, maxMs: Number.POSITIVE_INFINITY };

export class SelectionCache {
  readonly #cache: MemoryColumnCache;
  #work = 0;

  constructor(cache: MemoryColumnCache) {
    this.#cache = cache;
  }

  /** As `iterateSeries`, but a series may have more samples than the request's time. */
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
      this.#cache.demote(columns); // SC3
      this.#cache.keep(key, kept, collected.bytes);
    }
    this.#work += 1;
    return headSeries.length === 0 ? kept : withHead(kept, headSeries, request, this.#work);
  }
}

/** One segment's series are views already. */
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

/** `undefined`: too large to be kept. */
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

/** Both are in the order of the labels, and so is what comes out. */
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
