/** A thread that executes works: it alone has this part of the worker's caches. */
import { workerData } from "node:worker_threads";
import { realClock } from "../../kernel/node/real-clock.ts";
import { parseWork } from "../core/promql/work-body.ts";
import { writeArtifactBytes } from "../duckdb/write-artifact-bytes.ts";
import { MemoryColumnCache } from "./column-cache.ts";
import type {
  ComputeAnswer,
  ComputeRequest,
  ComputeThreadOptions,
  ComputeUsage,
} from "./compute-messages.ts";
import { type ColumnFileNote, DiskColumns } from "./disk-columns.ts";
import { HeadPuller } from "./head-puller.ts";
import { runWork } from "./leaf-runner.ts";
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
  sliceBytesMax: options.workBytesMax,
});

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
  const output = runWork(work, headSeries, { shelf, selections }, options, () => stop.check());
  stop.check();
  const { path, bytesMax } = request;
  return { produced: writeArtifactBytes(output.bytes, path, bytesMax, output), usage: usage() };
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
