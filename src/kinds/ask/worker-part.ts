/** The metrics part of a worker: threads that compute PromQL leaves next to the data. */
import { availableParallelism } from "node:os";
import type { WorkerContext, WorkerPart } from "../../data/parts/index.ts";
import { stopStep } from "../../ground/process/index.ts";
import {
  createPromqlExecutor,
  createPromqlWorkerMetrics,
  promqlBytesOf,
  promqlWorkKind,
} from "./run/index.ts";

export interface AskWorkerOptions {
  /** Defaults to the number of the machine's cores. */
  readonly computeThreads?: number;
}

export async function createAskWorkerPart(
  context: WorkerContext,
  { computeThreads = availableParallelism() }: AskWorkerOptions,
): Promise<WorkerPart> {
  const { memory, columnFiles, metrics, clusterToken, warmUp, clock, logger } = context;
  const executor = await createPromqlExecutor({
    threads: computeThreads,
    lakeDir: context.places.metricsDir,
    clusterToken,
    cacheBytes: memory.columnBytes,
    memoryBytesMax: promqlBytesOf(memory),
    columnFiles,
    warmUp,
    clock,
    logger,
    observer: createPromqlWorkerMetrics(metrics, () => columnFiles.usedBytes()),
    ...context.tls,
  });
  return {
    name: "ask",
    executors: { [promqlWorkKind]: executor },
    facts: { compute_threads: String(computeThreads) },
    failure: executor.failure,
    close: [stopStep("close compute threads", 3_000, () => executor.close())],
  };
}
