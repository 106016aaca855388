/**
 * Executes works in a compute thread: opens the segments, assembles the series, runs the leaf and
 * returns the artifact's bytes. It computes series by series, so that it notices a stop soon, and
 * counts memory before it keeps anything.
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

/** The result of a work before it is written. */
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

/** Workers exchange only error codes and texts. */
export function workError(thrown: unknown): unknown {
  if (thrown instanceof PromqlError) {
    return new OperatingError("bad_promql", "never", thrown.message);
  }
  // A segment's files are missing because it was replaced; only a new list can help.
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
