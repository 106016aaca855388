/**
 * Selections: the series of one shard that a selector means, each put together over all segments that a query reads. A
 * dashboard asks the same of the same segments again and again, its window moved by a step: then there is nothing left to do but
 * the computing, and the head's newest samples are put behind what is there.
 *
 *   SC1  A selection has every sample of its segments; whoever computes cuts it to its time.
 *   SC2  A selection's own samples never change. Behind them there is room, where the head's samples of the work at hand are: valid
 *        until the next work.
 */
import {
  type CollectRequest,
  iterateSeries,
  joinPieces,
  type SegmentReader,
} from "../../metrics/index.ts";
import {
  compareLabels,
  matcherSetKey,
  type RawSeries,
  type SampleColumns,
} from "../../promql/core/index.ts";
import type { MemoryColumnCache } from "./column-cache.ts";

/** Of a segment's samples: a smaller part is cheaper to put together anew than the whole is to keep. */
const usedShareMin = 0.5;
/** Of the cache, for one selection. */
const selectionShareMax = 0.5;
const allTime = { minMs: Number.NEGATIVE_INFINITY, maxMs: Number.POSITIVE_INFINITY };

export class SelectionCache {
  readonly #cache: MemoryColumnCache;

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
      kept = collect(readers, request, bytesMax, checkStop);
      if (kept === undefined) return iterateSeries(readers, headSeries, request);
      this.#cache.keep(key, kept, bytesOf(kept));
    }
    return headSeries.length === 0 ? kept : withHead(kept, headSeries, request);
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
): readonly KeptSeries[] | undefined {
  const kept: KeptSeries[] = [];
  let bytes = 0;
  for (const series of iterateSeries(readers, [], { ...request, range: allTime })) {
    checkStop();
    const next = new KeptSeries(series);
    bytes += next.bytes;
    if (bytes > bytesMax) return undefined;
    kept.push(next);
  }
  return kept;
}

function bytesOf(kept: readonly KeptSeries[]): number {
  return kept.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Both are in the order of the labels, and so is what comes out. */
function* withHead(
  kept: readonly KeptSeries[],
  headSeries: readonly RawSeries[],
  request: CollectRequest,
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
      yield series.followedBy(head.samples);
    } else {
      yield series;
    }
  }
  yield* heads.slice(at);
}

/** Of the samples there are, for those of a head. */
const roomShare = 1 / 16;
const roomMin = 64;

class KeptSeries implements RawSeries {
  readonly labels: RawSeries["labels"];
  samples: SampleColumns;
  readonly bytes: number;

  constructor({ labels, samples }: RawSeries) {
    this.labels = labels;
    this.samples = isView(samples) ? ownCopy(samples) : samples;
    const { count, stale, startTs, histograms } = samples;
    const perSample = 16 + (stale === undefined ? 0 : 1) + (startTs === undefined ? 0 : 8);
    const histogramBytes = histograms === undefined ? 0 : count * 400;
    this.bytes = 300 + Math.ceil(count * (1 + roomShare)) * perSample + histogramBytes;
  }

  /** SC2. */
  followedBy(head: SampleColumns): RawSeries {
    const { labels, samples } = this;
    const lastMs = samples.ts[samples.count - 1] ?? Number.NEGATIVE_INFINITY;
    const isLater = (head.ts[0] ?? Number.POSITIVE_INFINITY) > lastMs;
    if (!isLater || !isFloatsOnly(samples) || !isFloatsOnly(head)) {
      const joined = joinPieces([samples, head].filter(({ count }) => count > 0));
      return { labels, samples: joined ?? samples };
    }
    const count = samples.count + head.count;
    this.#makeRoom(count);
    const { ts, values } = this.samples;
    ts.set(head.ts.subarray(0, head.count), samples.count);
    values.set(head.values.subarray(0, head.count), samples.count);
    return { labels, samples: { ...this.samples, count } };
  }

  #makeRoom(count: number): void {
    const { samples } = this;
    if (samples.ts.length >= count) return;
    const capacity = count + Math.max(roomMin, Math.ceil(count * roomShare));
    const grown = (column: Float64Array): Float64Array => {
      const copy = new Float64Array(capacity);
      copy.set(column.subarray(0, samples.count));
      return copy;
    };
    this.samples = { ...samples, ts: grown(samples.ts), values: grown(samples.values) };
  }
}

function isFloatsOnly({ stale, histograms, startTs }: SampleColumns): boolean {
  return stale === undefined && histograms === undefined && startTs === undefined;
}

/** Of a column that is much longer: it would keep all of it in memory. */
function isView({ ts, count }: SampleColumns): boolean {
  return ts.buffer.byteLength > 2 * 8 * count;
}

function ownCopy(samples: SampleColumns): SampleColumns {
  const { count, ts, values, stale, histograms, startTs } = samples;
  return {
    count,
    ts: ts.slice(0, count),
    values: values.slice(0, count),
    stale: stale?.slice(0, count),
    histograms,
    startTs: startTs?.slice(0, count),
  };
}
