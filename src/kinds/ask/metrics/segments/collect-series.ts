/** Joins the parts of series from several segments and the head. Rules: MS6, MS7. */
import { assert } from "../../../../ground/kernel/errors.ts";
import {
  compareLabels,
  type Labels,
  type Matcher,
  type RawSeries,
  type SampleColumns,
} from "../../promql/core/index.ts";
import { fingerprint, shardOf } from "../core/fingerprint.ts";
import {
  ColumnScratch,
  cutSamples,
  joinPieces,
  mergeFloatsAndHistograms,
} from "../core/sample-pieces.ts";
import { seriesFlags } from "../core/segment-schema.ts";
import type { RowWindow, SegmentReader } from "./segment-reader.ts";
import { SeriesInterner } from "./series-interner.ts";

export interface CollectRequest {
  readonly matchers: readonly Matcher[];
  readonly shard: number;
  /** A power of two; segments and the head may have other shard counts. */
  readonly shardCount: number;
  /** Samples after `minMs`, up to and including `maxMs`. */
  readonly range: { readonly minMs: number; readonly maxMs: number };
  /** Reuses memory: a series' columns are valid only until the next one is requested. */
  readonly reuseColumns?: boolean;
}

/** All `readers` must share one interner. */
export function collectSeries(
  readers: readonly SegmentReader[],
  headSeries: readonly RawSeries[],
  request: CollectRequest,
): RawSeries[] {
  return [...iterateSeries(readers, headSeries, { ...request, reuseColumns: false })];
}

/** Yields the series in the order of `compare`; each may be dropped before the next. */
export function* iterateSeries(
  readers: readonly SegmentReader[],
  headSeries: readonly RawSeries[],
  request: CollectRequest,
  compare: (a: Labels, b: Labels) => number = compareLabels,
): Generator<RawSeries> {
  const interner = readers[0]?.series.interner ?? new SeriesInterner();
  const isShared = readers.every(({ series }) => series.interner === interner);
  assert(isShared, "segments that are read together share an interner");
  const found = findPieces(readers, headSeries, request, interner);
  const scratch = request.reuseColumns === true ? new ColumnScratch() : undefined;
  for (const id of inOrder([...found.keys()], interner, compare)) {
    const samples = readPlaces(found.get(id) as Place | Place[], request.range, scratch);
    if (samples !== undefined) yield { labels: interner.labelsOf(id), samples };
  }
}

/** Undefined when there are no samples in the range. */
function readPlaces(
  places: Place | readonly Place[],
  range: CollectRequest["range"],
  scratch: ColumnScratch | undefined,
): SampleColumns | undefined {
  if (!isList(places)) {
    const only = read(places, range);
    return only.count > 0 ? only : undefined;
  }
  const pieces = places.map((place) => read(place, range));
  return joinPieces(
    pieces.filter(({ count }) => count > 0),
    scratch,
  );
}

function isList(places: Place | readonly Place[]): places is readonly Place[] {
  return Array.isArray(places);
}

/** Where a part of a series is stored. */
type Place =
  | { readonly reader: SegmentReader; readonly window: RowWindow; readonly row: number }
  | { readonly samples: SampleColumns };

/** The parts of each series, in the order of `seq`. Most have one, and need no list. */
function findPieces(
  readers: readonly SegmentReader[],
  headSeries: readonly RawSeries[],
  request: CollectRequest,
  interner: SeriesInterner,
): Map<number, Place | Place[]> {
  const { matchers, shard, shardCount, range } = request;
  const matches = interner.matcher(matchers);
  const found = new Map<number, Place | Place[]>();
  const note = (id: number, place: Place): void => {
    const places = found.get(id);
    if (places === undefined) found.set(id, place);
    else if (Array.isArray(places)) places.push(place);
    else found.set(id, [places, place]);
  };
  const bySeq = readers.toSorted((a, b) => a.info.seq - b.info.seq || compareIds(a, b));
  for (const reader of bySeq) {
    const window = reader.window();
    const { series } = reader;
    // A segment of a part of this shard has only series of this shard.
    const isPart = reader.info.shardCount >= shardCount;
    const count = isPart ? 1 : shardCount;
    if (isPart && !within(reader, shard, shardCount)) continue;
    for (const row of series.select(matchers, matches, shard, count, range)) {
      note(series.idOf(row), { reader, window, row });
    }
  }
  for (const { labels, samples } of headSeries) {
    const id = interner.internLabels(labels);
    if (!matches(id)) continue;
    if (shardCount > 1 && shardOf(fingerprint(labels), shardCount) !== shard) continue;
    note(id, { samples });
  }
  return found;
}

function within(reader: SegmentReader, shard: number, shardCount: number): boolean {
  return Math.floor((reader.info.shard * shardCount) / reader.info.shardCount) === shard;
}

function compareIds(a: SegmentReader, b: SegmentReader): number {
  return a.info.segmentId < b.info.segmentId ? -1 : 1;
}

function read(place: Place, range: CollectRequest["range"]): SampleColumns {
  if ("samples" in place) return cutSamples(place.samples, range.minMs, range.maxMs);
  const { reader, window, row } = place;
  const { series } = reader;
  const flags = series.flags[row] as number;
  const rowCount = series.rowCount[row] as number;
  const histogramCount = series.histogramCount[row] as number;
  const rowStart = series.rowStart[row] as number;
  const rows =
    histogramCount === 0
      ? window.readWithin(rowStart, rowCount, range.minMs, range.maxMs)
      : window.read(rowStart, rowCount);
  const floats: SampleColumns = {
    count: rows.ts.length,
    ts: rows.ts,
    values: rows.values,
    stale: (flags & seriesFlags.hasStale) === 0 ? undefined : rows.stale,
    startTs: (flags & seriesFlags.hasStartTs) === 0 ? undefined : rows.startTs,
    histograms: undefined,
  };
  if (histogramCount === 0) return floats;
  const histograms = reader.readHistograms(series.histogramStart[row] as number, histogramCount);
  const whole = mergeFloatsAndHistograms(floats, {
    count: histogramCount,
    ts: histograms.ts,
    values: new Float64Array(histogramCount),
    stale: undefined,
    startTs: (flags & seriesFlags.hasStartTs) === 0 ? undefined : histograms.startTs,
    histograms: histograms.histograms,
  });
  return cutSamples(whole, range.minMs, range.maxMs);
}

/** Fast because tables are nearly in this order already. */
function inOrder(
  ids: number[],
  interner: SeriesInterner,
  compare: (a: Labels, b: Labels) => number,
): number[] {
  for (let index = 1; index < ids.length; index += 1) {
    const before = interner.labelsOf(ids[index - 1] as number);
    if (compare(before, interner.labelsOf(ids[index] as number)) > 0) {
      return ids.sort((a, b) => compare(interner.labelsOf(a), interner.labelsOf(b)));
    }
  }
  return ids;
}
