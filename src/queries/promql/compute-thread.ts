/** A thread that executes works: it alone has this part of the worker's caches. */
import { workerData } from "node:worker_threads";
import { realClock } from "../../kernel/node/real-clock.ts";
import type { RawSeries } from "../../promql/core/index.ts";
import { type LabelsWork, parseWork } from "../core/promql/work-body.ts";
import { writeArtifactBytes } from "../duckdb/write-artifact-bytes.ts";
import { MemoryColumnCache } from "./column-cache.ts";
import type {
  ComputeAnswer,
  ComputeRequest,
  ComputeThreadOptions,
  ComputeUsage,
} from "./compute-messages.ts";
import { Computing } from "./computing.ts";
import { type ColumnFileNote, DiskColumns } from "./disk-columns.ts";
import { HeadPuller, heldBytes } from "./head-puller.ts";
import { runLabels } from "./label-runner.ts";
import { type LeafOutputBytes, runWork, workError } from "./leaf-runner.ts";
import { MemoryAccount } from "./memory-budget.ts";
import { paceOf } from "./pace.ts";
import { SegmentShelf } from "./segment-shelf.ts";
import { SelectionCache } from "./selection-cache.ts";
import { type StopFlag, serveThread } from "./serve-thread.ts";
import { warmUpCompute } from "./warm-up.ts";

const options = workerData as ComputeThreadOptions;
const spill =
  options.columnsDir === undefined
    ? undefined
    : new DiskColumns(options.columnsDir, (note) => side.note(note));
const cache = new MemoryColumnCache(options.cacheBytesMax, spill);
const shelf = new SegmentShelf(options.lakeDir, cache);
const selections = new SelectionCache(cache);
const head = new HeadPuller({
  clusterToken: options.clusterToken,
  tls: options.tls,
  clock: realClock,
  sliceBytesMax: Math.floor(options.workBytesMax / 2),
});

const computing = new Computing(options.current);
let isIdle: boolean = true;

const side = serveThread<ComputeRequest, ComputeAnswer, never, ColumnFileNote>({
  serve,
  close() {
    isIdle = false;
    head.close();
    shelf.clear();
  },
});
const pending = new Int32Array(options.pending);
const { warmUpDelayMs: delayMs } = options;
if (delayMs !== undefined) {
  const isPaused = (): boolean => Atomics.load(pending, 0) > 0;
  void warmUpCompute({ clock: realClock, isIdle: () => isIdle, isPaused, delayMs });
}

/** While one work waits for the head, others compute. */
async function serve(request: ComputeRequest, stop: StopFlag): Promise<ComputeAnswer> {
  isIdle = false;
  const work = parseWork(request.body);
  const headSeries = await head.series(request.queryId, work, stop.signal);
  stop.check();
  const memory = new MemoryAccount(options.memory, options.workBytesMax);
  try {
    memory.take(heldBytes(headSeries));
    const { number, path, bytesMax } = request;
    const write = (output: LeafOutputBytes): ComputeAnswer => {
      stop.check();
      return { produced: writeArtifactBytes(output.bytes, path, bytesMax, output), usage: usage() };
    };
    if (work.op !== "leaf") return write(await labels(number, work, headSeries, stop));
    return computing.run(number, () =>
      write(runWork(work, headSeries, { shelf, selections }, memory, () => stop.check())),
    );
  } finally {
    memory.close();
  }
}

async function labels(
  number: number,
  work: LabelsWork,
  headSeries: readonly RawSeries[],
  stop: StopFlag,
): Promise<LeafOutputBytes> {
  try {
    return await computing.paced(number, paceOf(realClock, stop), (rest) =>
      runLabels(work, headSeries, shelf, rest),
    );
  } catch (thrown) {
    throw workError(thrown);
  } finally {
    shelf.trim();
  }
}

function usage(): ComputeUsage {
  return {
    cacheBytes: cache.bytes,
    cacheHits: cache.hits,
    cacheMisses: cache.misses,
    headPulls: head.pullCount,
    headBytes: head.pulledBytes,
    headMs: head.lastPullMs,
  };
}
