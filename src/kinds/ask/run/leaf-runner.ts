/**
 * Executes works in a compute thread: opens the segments, puts the series together, runs the leaf, and gives the artifact's
 * bytes. Everything is computed series by series, so that a stop is seen soon; what is kept is counted before.
 */
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { CollectRequest } from "../metrics/index.ts";
import {
  executeLeaf,
  type HeldMemory,
  leafTimeRange,
  PromqlError,
  type RawSeries,
} from "../promql/core/index.ts";
import type { LeafWork, WorkScope } from "./core/work-body.ts";
import { encodeLeafResult, encodingBytes } from "./leaf-artifact.ts";
import type { SegmentShelf } from "./segment-shelf.ts";
import type { SelectionCache } from "./selection-cache.ts";

/** What a work left, before it is written. */
export interface LeafOutputBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly rowCount: number;
  readonly minTs: number | undefined;
  readonly maxTs: number | undefined;
}

export interface RunnerCaches {
  readonly shelf: SegmentShelf;
  readonly selections: SelectionCache;
}

export function runWork(
  work: LeafWork,
  headSeries: readonly RawSeries[],
  { shelf, selections }: RunnerCaches,
  memory: HeldMemory,
  checkStop: () => void,
): LeafOutputBytes {
  try {
    return runLeaf(work, headSeries, { shelf, selections }, memory, checkStop);
  } catch (thrown) {
    throw workError(thrown);
  } finally {
    shelf.trim();
  }
}

/** Between workers there are only codes and texts. */
export function workError(thrown: unknown): unknown {
  if (thrown instanceof PromqlError) {
    return new OperatingError("bad_promql", "never", thrown.message);
  }
  // A segment's files are missing: it was replaced long ago, and a new list helps, or nothing does.
  if (thrown instanceof OperatingError && thrown.code === "not_found") {
    return new OperatingError("store_corrupt", "never", thrown.message);
  }
  return thrown;
}

function runLeaf(
  work: LeafWork,
  headSeries: readonly RawSeries[],
  { shelf, selections }: RunnerCaches,
  memory: HeldMemory,
  checkStop: () => void,
): LeafOutputBytes {
  const { leaf, samplesMax, labelBytesMax } = work;
  const readers = shelf.open(work.segments, checkStop);
  const request = { ...requestOf(work), matchers: leaf.matchers, range: leafTimeRange(leaf) };
  const series = selections.series(readers, headSeries, request, checkStop);
  const wanted = whileWanted(series, checkStop);
  const result = executeLeaf(leaf, wanted, { samplesMax, labelBytesMax, memory, checkStop });
  checkStop();
  memory.take(encodingBytes(result, leaf));
  const { bytes, rowCount } = encodeLeafResult(result, leaf);
  const { startMs, endMs } = leaf.grid;
  return { bytes, rowCount, minTs: startMs, maxTs: endMs };
}

function requestOf({ shard, shardCount }: WorkScope): Pick<CollectRequest, "shard" | "shardCount"> {
  return { shard, shardCount };
}

function* whileWanted(all: Iterable<RawSeries>, checkStop: () => void): Generator<RawSeries> {
  for (const series of all) {
    checkStop();
    yield series;
  }
}
