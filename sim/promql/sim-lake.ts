/**
 * Where a world's metrics are: segments of a data set by block and shard, and the head with what is
 * not sealed yet. Time passes, so batches are appended and blocks are sealed. Rules: SK1, SK2.
 */
import { assert } from "../../src/ground/kernel/errors.ts";
import { cutSamples, joinPieces } from "../../src/kinds/ask/metrics/core/sample-pieces.ts";
import { type HeadSnapshot, type SegmentInfo, shardOf } from "../../src/kinds/ask/metrics/index.ts";
import {
  compareText,
  compileMatchers,
  leafTimeRange,
  type RawSeries,
  type SampleColumns,
} from "../../src/kinds/ask/promql/core/index.ts";
import type { HeadScope, LeafWork } from "../../src/kinds/ask/run/core/work-body.ts";
import {
  appendedUntil,
  batchesBefore,
  type DataSet,
  dataStartMs,
  lateBatches,
  type StoredSeries,
  scrapeMs,
} from "./data-set.ts";

/**
 * Where blocks end, in batches, and into how many shards each is cut. The older ones were
 * compacted.
 */
const blocks = [
  { endBatch: 120, shardCount: 4 },
  { endBatch: 180, shardCount: 2 },
  { endBatch: 210, shardCount: 1 },
  { endBatch: 225, shardCount: 2 },
  { endBatch: 240, shardCount: 1 },
  { endBatch: 255, shardCount: 1 },
] as const;
/** A block is sealed when no more samples of it can arrive. */
const sealBatches = lateBatches + 2;

interface Segment {
  readonly info: SegmentInfo;
  /** The samples of each series, by its index. */
  readonly pieces: ReadonlyMap<number, SampleColumns>;
  readonly sealedAtBatch: number;
}

/** The segments of a data set never change, so all worlds that have it share them. */
const segmentsMade = new WeakMap<DataSet, readonly Segment[]>();

/** What can be read at one moment. */
export interface LakeMoment {
  readonly head: HeadSnapshot;
  readonly segments: readonly SegmentInfo[];
  /** Every sample, without segments and a head. */
  readonly everything: readonly RawSeries[];
}

export class SimLake {
  readonly #data: DataSet;
  readonly #nowMs: () => number;
  readonly #segments: readonly Segment[];
  readonly #bySegmentId: ReadonlyMap<string, Segment>;

  constructor(data: DataSet, nowMs: () => number) {
    this.#data = data;
    this.#nowMs = nowMs;
    const known = segmentsMade.get(data) ?? cutSegments(data);
    segmentsMade.set(data, known);
    this.#segments = known;
    this.#bySegmentId = new Map(known.map((segment) => [segment.info.segmentId, segment]));
  }

  /** How many batches there are now. */
  get batches(): number {
    return batchesBefore + Math.floor(this.#nowMs() / scrapeMs);
  }

  moment(): LakeMoment {
    const { batches } = this;
    const sealed = this.#segments.filter(({ sealedAtBatch }) => sealedAtBatch <= batches);
    return {
      head: headAt(batches),
      segments: sealed.map(({ info }) => info),
      everything: this.#data.at(batches),
    };
  }

  /** The series of a work, in the order of their labels, as a worker puts them together. */
  *series(work: LeafWork): Generator<RawSeries> {
    const { leaf, shard, shardCount, head } = work;
    const matches = compileMatchers(leaf.matchers);
    const range = leafTimeRange(leaf);
    const segments = work.segments.map(({ segmentId }) => this.#segment(segmentId));
    segments.sort((a, b) => a.info.seq - b.info.seq);
    for (const [index, series] of this.#data.series.entries()) {
      const { labels } = series;
      if (shardOf(series, shardCount) !== shard || !matches(labels)) continue;
      const pieces = segments.flatMap(({ pieces }) => pieces.get(index) ?? []);
      if (head !== undefined) pieces.push(this.readHead(series, head));
      const wanted = pieces.map((piece) => cutSamples(piece, range.minMs, range.maxMs));
      const samples = joinPieces(wanted.filter(({ count }) => count > 0));
      if (samples !== undefined) yield { labels, samples };
    }
  }

  /** What the head had of a series at the moment that the work names. */
  protected readHead(series: StoredSeries, { snapshot, minMs, maxMs }: HeadScope): SampleColumns {
    const there = appendedUntil(series, snapshot.appendSeq);
    return cutSamples(there, Math.max(minMs, snapshot.minTs - 1), maxMs);
  }

  #segment(segmentId: string): Segment {
    const segment = this.#bySegmentId.get(segmentId);
    assert(segment !== undefined, "a work names segments that are there");
    return segment;
  }
}

/** SK2. */
function headAt(batches: number): HeadSnapshot {
  const sealed = blocks.filter(({ endBatch }) => endBatch + sealBatches <= batches);
  const firstBatch = sealed.at(-2)?.endBatch ?? 0;
  return {
    url: "http://head:7002",
    incarnation: "head-1",
    appendSeq: batches,
    minTs: dataStartMs + firstBatch * scrapeMs,
    maxTs: dataStartMs + batches * scrapeMs,
    sampleCount: 1_000,
    seriesCount: 40,
  };
}

function cutSegments(data: DataSet): readonly Segment[] {
  const segments: Segment[] = [];
  let startBatch = 0;
  for (const { endBatch, shardCount } of blocks) {
    for (let shard = 0; shard < shardCount; shard += 1) {
      const seq = segments.length + 1;
      const segment = cutSegment(data, seq, { startBatch, endBatch, shard, shardCount });
      if (segment.pieces.size > 0) segments.push(segment);
    }
    startBatch = endBatch;
  }
  return segments;
}

function cutSegment(
  data: DataSet,
  seq: number,
  at: {
    readonly startBatch: number;
    readonly endBatch: number;
    readonly shard: number;
    readonly shardCount: number;
  },
): Segment {
  const { startBatch, endBatch, shard, shardCount } = at;
  const minTs = dataStartMs + startBatch * scrapeMs;
  const maxTs = dataStartMs + endBatch * scrapeMs - 1;
  const pieces = new Map<number, SampleColumns>();
  const names = new Set<string>();
  for (const [index, series] of data.series.entries()) {
    if (shardOf(series, shardCount) !== shard) continue;
    const piece = cutSamples(series.samples, minTs - 1, maxTs);
    if (piece.count === 0) continue;
    pieces.set(index, piece);
    names.add(series.labels.name);
  }
  const segmentId = `s-${endBatch}-${shard}.${shardCount}`;
  const sampleCount = [...pieces.values()].reduce((sum, { count }) => sum + count, 0);
  return {
    info: {
      segmentId,
      path: segmentId,
      seq,
      level: shardCount > 1 ? 1 : 0,
      minTs,
      maxTs,
      shardCount,
      shard,
      seriesCount: pieces.size,
      sampleCount,
      histogramCount: 0,
      sizeBytes: sampleCount * 4,
      // Some have too many names to list.
      metricNames: seq % 4 === 0 ? undefined : [...names].sort(compareText),
      sealSeq: seq,
    },
    pieces,
    sealedAtBatch: endBatch + sealBatches,
  };
}
