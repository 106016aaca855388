/**
 * The facts of a run's update: control state and what is missing in the cache from the store, in
 * one reading; the rest from the cache.
 */

import type { Store } from "../../../ground/store/index.ts";
import { figuresOf, toMs } from "../core/figures.ts";
import { frozenOf } from "../core/generator-bound.ts";
import type { LoadWorkerId, RunId } from "../core/ids.ts";
import type { RunRecord, WorkerRecord } from "../core/run-record.ts";
import type { EnrichmentStatus } from "../core/run-state.ts";
import { healthOf, isTerminal } from "../core/run-state.ts";
import {
  type FindMaxUpdate,
  findMaxUpdate,
  type RunUpdateFacts,
  type RunUpdateWorker,
} from "../core/run-update.ts";
import type { WorkerSnapshot } from "../core/worker-snapshot.ts";
import { finalRecordIn } from "../store/final-record.ts";
import { readLogs } from "../store/run-logs.ts";
import { readNow, readRun, readWorkers } from "../store/run-rows.ts";
import { readPoll } from "../store/run-series.ts";
import { readSnapshots, readSuperseded } from "../store/worker-series.ts";
import type { LiveMetrics } from "./live-metrics.ts";

const logLinesMax = 200;

/** Undefined when there is no such run. Has at most 200 log lines after `afterLogSequence`. */
export async function readRunUpdate(
  store: Store,
  live: LiveMetrics,
  runId: RunId,
  afterLogSequence: number,
): Promise<RunUpdateFacts | undefined> {
  const read = await store.read(async (tx) => {
    const run = await readRun(tx, runId);
    if (run === undefined) return undefined;
    const registered = await readWorkers(tx, runId);
    // Superseded workers count like lost ones: once the run has ended.
    const superseded = isTerminal(run.status) ? await readSuperseded(tx, runId) : [];
    const workers = [...registered, ...superseded.map(supersededWorker)];
    const cached = isTerminal(run.status) ? new Map() : live.fresh(runId);
    const needsStore = workers.some(({ workerId }) => !cached.has(workerId));
    const parent = await tx.db
      .selectFrom("test_results")
      .select(["enrichment_status", "figures"])
      .where("test_id", "=", runId)
      .executeTakeFirst();
    return {
      run,
      nowMs: await readNow(tx),
      workers,
      stored: needsStore ? await readSnapshots(tx, runId, workers) : new Map(),
      poll: await readPoll(tx, runId),
      logs: await readLogs(tx, runId, afterLogSequence, logLinesMax),
      enrichmentStatus: (parent?.enrichment_status ?? null) as EnrichmentStatus | null,
      record: isTerminal(run.status)
        ? finalRecordIn(JSON.parse(parent?.figures ?? "{}"))
        : undefined,
    };
  });
  if (read === undefined) return undefined;
  const { run, nowMs } = read;
  const cached = isTerminal(run.status) ? new Map() : live.fresh(runId);
  const workers = read.workers.map((worker): RunUpdateWorker => {
    const own = newest(cached.get(worker.workerId), read.stored.get(worker.workerId), nowMs);
    return {
      ...worker,
      targetConnections: run.targets[worker.workerId]?.connections ?? 0,
      snapshot: own?.snapshot,
      snapshotAtMs: own?.atMs ?? 0,
    };
  });
  const { workload } = run.scenario;
  return {
    ...run,
    nowMs,
    warmupSeconds: workload.warmupSeconds,
    durationSeconds: workload.durationSeconds,
    targetQps: targetQpsOf(run),
    workers,
    poll: read.poll,
    findMax: findMaxOf(run, workers, nowMs),
    enrichmentStatus: read.enrichmentStatus,
    warnings: warningsOf(run, workers, nowMs),
    logs: read.logs,
    record: read.record,
  };
}

function supersededWorker(worker: {
  readonly workerId: LoadWorkerId;
  readonly groupId: number;
}): Omit<WorkerRecord, "testId" | "processId" | "targetConnections" | "activeConnections"> {
  return {
    ...worker,
    hostName: "",
    status: "DEAD",
    phase: "",
    lastHeartbeatMs: 0,
    lastError: "another process has taken its place",
  };
}

/** The current target, including stages and guardrails. */
function targetQpsOf({ targets, scenario: { workload } }: RunRecord): number | null {
  if (workload.loadMode !== "QPS") return null;
  const shares = Object.values(targets).map(({ qps }) => qps ?? 0);
  return shares.length === 0 ? workload.targetQps : shares.reduce((sum, qps) => sum + qps, 0);
}

interface Newest {
  readonly snapshot: WorkerSnapshot;
  readonly atMs: number;
}

function newest(
  cached: { readonly snapshot: WorkerSnapshot; readonly ageMs: number } | undefined,
  stored: Newest | undefined,
  nowMs: number,
): Newest | undefined {
  if (cached === undefined) return stored;
  const own = { snapshot: cached.snapshot, atMs: nowMs - cached.ageMs };
  const isOlder = stored !== undefined && stored.snapshot.sequence > own.snapshot.sequence;
  return isOlder ? stored : own;
}

function warningsOf(
  { status, expectedWorkers, control }: RunRecord,
  workers: readonly RunUpdateWorker[],
  nowMs: number,
): readonly string[] {
  const stale = workers.filter(
    (worker) =>
      ["READY", "RUNNING", "DRAINING"].includes(worker.status) &&
      healthOf(nowMs - worker.lastHeartbeatMs) === "STALE",
  );
  const lost = workers.filter((worker) => worker.status === "DEAD" || worker.status === "FAILED");
  const frozen = frozenOf(workers.flatMap(({ snapshot }) => snapshot?.answering ?? []));
  return [
    ...(frozen.warning === undefined ? [] : [frozen.warning]),
    ...(lost.length === 0 || isTerminal(status)
      ? []
      : [`${lost.length}/${expectedWorkers} workers unresponsive`]),
    ...(isTerminal(status) ? [] : stale).map(
      ({ workerId, lastHeartbeatMs }) =>
        `${workerId} is stale: no heartbeat for ${Math.floor((nowMs - lastHeartbeatMs) / 1000)} s`,
    ),
    ...(control === null || control.loadShare === 1
      ? []
      : [`a guardrail took the load back to ${Math.round(control.loadShare * 100)} %`]),
  ];
}

function findMaxOf(
  { findMax }: RunRecord,
  workers: readonly RunUpdateWorker[],
  nowMs: number,
): FindMaxUpdate | null {
  if (findMax === null) return null;
  const { state, stage } = findMax;
  const snapshots = workers.flatMap(({ snapshot }) => snapshot ?? []);
  const { ops, errors, response } = figuresOf(
    snapshots.flatMap(({ series }) =>
      series.filter(({ phase, step }) => phase === "MEASUREMENT" && step === state.step),
    ),
  );
  const isMeasuring = stage === "measuring";
  const qps = snapshots.reduce((sum, snapshot) => sum + snapshot.qps, 0);
  const update = findMaxUpdate(
    state,
    {
      qps: isMeasuring ? qps : null,
      p95Ms: toMs(response.percentileUs(0.95)),
      errorRate: ops === 0 ? null : errors / ops,
    },
    { qpsVsPriorPct: findMax.qpsVsPriorPct, queueDetected: findMax.queueDetected },
    nowMs,
  );
  return stage === "done" ? { ...update, status: "DONE" } : update;
}
