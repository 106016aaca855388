/**
 * A load worker's process: builds the objects, runs, ends. The coordinator starts it, and it
 * outlives the coordinator: what ends it is `LoadWorker`'s to decide, or a signal.
 */

import "../core/error-codes.ts";
import { rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { decideLakePlaces } from "../../../data/lake/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { privateBytes } from "../../../ground/kernel/node/process-memory.ts";
import { realClock as clock } from "../../../ground/kernel/node/real-clock.ts";
import { createSystemPrng } from "../../../ground/kernel/node/system-random.ts";
import { startThreadWakeTimer } from "../../../ground/kernel/node/thread-wake-timer.ts";
import { randomText } from "../../../ground/kernel/prng.ts";
import {
  machine,
  type ProcessOptions,
  runStopSteps,
  setUpProcess,
} from "../../../ground/process/index.ts";
import { parseStoreUrl } from "../../../ground/store/index.ts";
import { type LoadWorkerId, parseRunId, type RunId } from "../core/ids.ts";
import type { WorkerEnd } from "../core/load-worker-state.ts";
import { ExecutionRecorder } from "../executions/execution-recorder.ts";
import { startThreadSink } from "../executions/thread-sink.ts";
import { passwordOf } from "../orchestrator/seal.ts";
import { queryTagOf } from "../store/result-rows.ts";
import { openTarget } from "../targets/open-target.ts";
import { createTargetFiles } from "../targets/target-files.ts";
import { LivePoster } from "./live-poster.ts";
import { LoadWorker } from "./load-worker.ts";
import { MemoryGuard } from "./memory-guard.ts";
import { startProcessMeter } from "./process-meter.ts";
import { startThreadControl } from "./thread-control.ts";

/** As the command line gives them. */
export interface LoadWorkerOptions extends Omit<ProcessOptions, "host"> {
  readonly runId: string;
  readonly workerId: string;
  readonly workerGroupId: number;
  readonly workerGroupCount: number;
  readonly coordinatorUrl?: string;
  readonly store?: string;
  readonly lake?: string;
  readonly allowTargetFile?: readonly string[];
  /** In bytes; undefined means no limit. */
  readonly loadMemoryLimit?: number;
}

/** `src/coordinator` names it so. */
const leaseName = "coordinator";

export async function runLoadWorker(options: LoadWorkerOptions): Promise<WorkerEnd> {
  const runId = checkOptions(options);
  const workerId = options.workerId as LoadWorkerId;
  const { coordinatorUrl } = options;
  const { dataDir, logger, clusterToken } = setUpProcess(
    { ...options, host: "127.0.0.1" },
    workerId,
    "worker",
  );
  const prng = createSystemPrng();
  const files = createTargetFiles({
    dataDir: dataDir.path,
    ...(options.allowTargetFile === undefined ? {} : { allowed: options.allowTargetFile }),
  });
  const store = parseStoreUrl(options.store ?? dataDir.storePath);
  const lake = decideLakePlaces(options, dataDir.lakeDir).tables;
  const incarnation = `i-${randomText(prng, 16)}`;
  const stagingDir = join(dataDir.path, "load", `${runId}.${workerId}.${incarnation}`);
  const control = startThreadControl({ store, leaseName });
  const wake = startThreadWakeTimer(clock);
  const { loadMemoryLimit: workerBytes } = options;
  const meter = startProcessMeter(clock, machine().totalBytes);
  const guard =
    workerBytes === undefined
      ? undefined
      : new MemoryGuard({
          bytesMax: workerBytes,
          privateBytes: () => privateBytes(process.pid),
          exceeded: (message) => worker.fail(message),
          end: () => process.kill(process.pid, "SIGKILL"),
          clock,
        });
  const poster =
    coordinatorUrl === undefined
      ? undefined
      : new LivePoster({ coordinatorUrl, runId, clusterToken, clock });
  const worker: LoadWorker = new LoadWorker({
    identity: {
      runId,
      workerId,
      groupId: options.workerGroupId,
      groupCount: options.workerGroupCount,
      testId: `${runId}-${workerId}-${randomText(prng, 8)}`,
      incarnation,
      hostName: hostname(),
      processId: process.pid,
    },
    control,
    openTarget: async (view) => {
      const { scenario } = view;
      const { kind } = scenario.target;
      if (kind === "duckdb" || kind === "sqlite") guard?.start();
      return await openTarget(scenario.target, passwordOf(view, clusterToken), clock, {
        tag: queryTagOf(runId),
        files,
        ...(workerBytes === undefined ? {} : { workerBytes }),
      });
    },
    readPools: ({ scenario: { templateId } }) => control.readPools(runId, templateId),
    openRecorder: ({ scenario }, session, source, originMs) =>
      new ExecutionRecorder({
        sink: startThreadSink({
          store,
          lake,
          stagingDir,
          source: {
            ...source,
            operations: session.operations.map(({ name, kind }) => ({ name, kind })),
          },
        }),
        oneIn: scenario.workload.recordOneIn,
        originMs,
        clock,
        logger,
      }),
    live: (post) => poster?.post(post),
    meter,
    wake,
    clock,
    prng,
    logger: logger.with({ run_id: runId, worker_id: workerId }),
  });
  endOnSignal(() => worker.terminate());
  logger.info({ run_id: runId, incarnation }, "load worker started");
  const end = await worker.run();
  const { sent = 0, failed = 0 } = poster?.figures ?? {};
  logger.info({ end: end.kind, status: end.status, sent, failed }, end.message);
  await runStopSteps(
    [
      { name: "close store", timeoutMs: 1_000, run: () => control.close() },
      { name: "close timer", timeoutMs: 1_000, run: () => wake.close() },
      { name: "close meter", timeoutMs: 100, run: async () => meter.close() },
      { name: "close guard", timeoutMs: 100, run: async () => guard?.close() },
      {
        name: "delete staging",
        timeoutMs: 1_000,
        run: () => rm(stagingDir, { recursive: true, force: true }),
      },
    ],
    clock,
    logger,
  );
  return end;
}

/** Not `stopRequested`: that ends a process with whoever started it. */
function endOnSignal(end: () => void): void {
  let asked = false;
  const ask = (exitCode: number): void => {
    if (asked) process.exit(exitCode);
    asked = true;
    end();
  };
  process.on("SIGTERM", () => ask(143));
  process.on("SIGINT", () => ask(130));
  process.on("SIGHUP", () => undefined); // Its terminal is not its control.
}

function checkOptions({ workerGroupId, workerGroupCount, ...options }: LoadWorkerOptions): RunId {
  const runId = parseRunId(options.runId);
  if (runId === undefined) {
    throw new OperatingError("bad_request", "never", "--run-id: this is no run's id");
  }
  if (workerGroupId >= workerGroupCount) {
    const message = "--worker-group-id counts from 0 and is below --worker-group-count";
    throw new OperatingError("bad_request", "never", message);
  }
  return runId;
}
