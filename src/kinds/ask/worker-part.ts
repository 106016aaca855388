/** The metrics part of a worker: threads that compute PromQL leaves next to the data. */
import type { WorkerContext, WorkerPart } from "../../data/parts/index.ts";
import { stopStep } from "../../ground/process/index.ts";
import {
  createPromqlExecutor,
  createPromqlWorkerMetrics,
  promqlRehearsalKind,
  promqlWorkKind,
} from "./run/index.ts";

export async function createAskWorkerPart(context: WorkerContext): Promise<WorkerPart> {
  const { shares, columnFiles, metrics, clusterToken, warmUp, clock, logger } = context;
  const { computeThreads } = shares.cpu;
  const executor = await createPromqlExecutor({
    threads: computeThreads,
    lakeDir: context.places.metricsDir,
    clusterToken,
    cacheBytes: shares.memory.columnBytes,
    memory: context.workMemory,
    columnFiles,
    warmUp,
    clock,
    logger,
    observer: createPromqlWorkerMetrics(metrics, () => columnFiles.usedBytes()),
    ...context.tls,
  });
  return {
    name: "ask",
    executors: { [promqlWorkKind]: executor, [promqlRehearsalKind]: executor },
    facts: { compute_threads: String(computeThreads) },
    failure: executor.failure,
    close: [stopStep("close compute threads", 3_000, () => executor.close())],
  };
}
