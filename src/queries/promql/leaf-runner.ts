/**
 * Executes works in a compute thread: opens the segments, puts the series together, runs the leaf, and gives the artifact's
 * bytes. Everything is computed series by series, so that a stop is seen soon and memory stays within its bound.
 */
import { OperatingError } from "../../kernel/errors.ts";
import { type CollectRequest, iterateSeries, type SegmentReader } from "../../metrics/index.ts";
import {
  compareLabels,
  compareText,
  executeLeaf,
  type Labels,
  leafTimeRange,
  metricNameLabel,
  PromqlError,
  type RawSeries,
  stepCount,
} from "../../promql/core/index.ts";
import type { LabelsWork, LeafWork, PromqlWork, WorkScope } from "../core/promql/work-body.ts";
import { encodeLeafResult } from "./leaf-artifact.ts";
import { encodeList, seriesItem } from "./list-artifact.ts";
import type { SegmentShelf } from "./segment-shelf.ts";
import type { SelectionCache } from "./selection-cache.ts";

/** What a work left, before it is written. */
export interface LeafOutputBytes {
  readonly bytes: Uint8Array;
  readonly rowCount: number;
  readonly minTs: number | undefined;
  readonly maxTs: number | undefined;
}

export interface RunnerLimits {
  /** Of what a work holds at a time besides the caches. */
  readonly workBytesMax: number;
}

export interface RunnerCaches {
  readonly shelf: SegmentShelf;
  readonly selections: SelectionCache;
}

export function runWork(
  work: PromqlWork,
  headSeries: readonly RawSeries[],
  { shelf, selections }: RunnerCaches,
  limits: RunnerLimits,
  checkStop: () => void,
): LeafOutputBytes {
  try {
    return work.op === "leaf"
      ? runLeaf(work, headSeries, { shelf, selections }, limits, checkStop)
      : runLabels(work, headSeries, shelf, checkStop);
  } catch (thrown) {
    // Between workers there are only codes and texts.
    if (thrown instanceof PromqlError) {
      throw new OperatingError("bad_promql", "never", thrown.message);
    }
    // A segment was replaced so long ago that its files are gone: only a new list of them helps.
    if (thrown instanceof OperatingError && thrown.code === "not_found") {
      throw new OperatingError("head_moved", "never", thrown.message);
    }
    throw thrown;
  } finally {
    shelf.trim();
  }
}

function runLeaf(
  work: LeafWork,
  headSeries: readonly RawSeries[],
  { shelf, selections }: RunnerCaches,
  limits: RunnerLimits,
  checkStop: () => void,
): LeafOutputBytes {
  const { leaf, samplesMax } = work;
  const readers = shelf.open(work.segments, checkStop);
  const request = { ...requestOf(work), matchers: leaf.matchers, range: leafTimeRange(leaf) };
  const series = selections.series(readers, headSeries, request, checkStop);
  const bounded = within(series, bytesPerSeries(work), limits.workBytesMax, checkStop);
  const result = executeLeaf(leaf, bounded, { samplesMax });
  checkStop();
  const { bytes, rowCount } = encodeLeafResult(result, leaf);
  const { startMs, endMs } = leaf.grid;
  return { bytes, rowCount, minTs: startMs, maxTs: endMs };
}

function requestOf({ shard, shardCount }: WorkScope): Pick<CollectRequest, "shard" | "shardCount"> {
  return { shard, shardCount };
}

/** What the result keeps of a series. Groups keep nothing of it. */
function bytesPerSeries({ leaf }: LeafWork): (series: RawSeries) => number {
  const { output, grid } = leaf;
  if (output.kind === "raw") return ({ samples }) => samples.count * 17;
  if (output.kind === "steps") {
    const bytes = stepCount(grid) * 9;
    return () => bytes;
  }
  return () => 0;
}

function* within(
  all: Iterable<RawSeries>,
  bytesOf: (series: RawSeries) => number,
  bytesMax: number,
  checkStop: () => void,
): Generator<RawSeries> {
  let bytes = 0;
  for (const series of all) {
    checkStop();
    bytes += bytesOf(series);
    if (bytes > bytesMax) {
      throw new OperatingError(
        "query_too_large",
        "never",
        `a part of the query needs more than ${bytesMax} bytes of memory on a worker`,
        { hint: "Select fewer series, ask for a shorter time or a longer step, or aggregate." },
      );
    }
    yield series;
  }
}

function runLabels(
  work: LabelsWork,
  headSeries: readonly RawSeries[],
  shelf: SegmentShelf,
  checkStop: () => void,
): LeafOutputBytes {
  const readers = shelf.open(work.segments, checkStop);
  const all = labelSets(work, headSeries, readers, checkStop);
  const items = work.op === "series" ? firstSeries(all, work.limit) : namesOrValues(all, work);
  return {
    bytes: encodeList(items),
    rowCount: items.length,
    minTs: work.startMs,
    maxTs: work.endMs,
  };
}

/** In the order of their labels. One more than the limit shows that there are more; 0: no limit. */
function firstSeries(all: Iterable<Labels>, limit: number): string[] {
  const byKey = new Map<string, Labels>();
  for (const labels of all) byKey.set(labels.key, labels);
  const sorted = [...byKey.values()].sort(compareLabels);
  return (limit > 0 ? sorted.slice(0, limit + 1) : sorted).map(seriesItem);
}

function namesOrValues(all: Iterable<Labels>, { op, label }: LabelsWork): string[] {
  const items = new Set<string>();
  for (const labels of all) {
    if (op === "names") {
      for (let index = 0; index < labels.pairs.length; index += 2) {
        items.add(labels.pairs[index] as string);
      }
    } else {
      const value = label === metricNameLabel ? labels.name : labels.get(label);
      if (value !== "") items.add(value);
    }
  }
  return [...items].sort(compareText);
}

function* labelSets(
  work: LabelsWork,
  headSeries: readonly RawSeries[],
  readers: readonly SegmentReader[],
  checkStop: () => void,
): Generator<Labels> {
  const { matcherSets, shard, shardCount, startMs, endMs } = work;
  const range = { minMs: startMs - 1, maxMs: endMs };
  const sets = matcherSets.length === 0 ? [[]] : matcherSets;
  for (const matchers of sets) {
    for (const { series } of readers) {
      checkStop();
      const matches = series.interner.matcher(matchers);
      for (const row of series.select(matchers, matches, shard, shardCount, range)) {
        yield series.labelsOf(row);
      }
    }
    for (const { labels } of iterateSeries([], headSeries, {
      matchers,
      shard,
      shardCount,
      range,
    })) {
      yield labels;
    }
  }
}
