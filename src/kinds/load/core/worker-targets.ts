/** How many workers a run has, and the target of each. Rules: WT1 to WT5. */

import type { Targets, WorkerTarget } from "./control-events.ts";
import type { Scenario, TargetConfig } from "./scenario.ts";

export interface RunShape {
  readonly workers: number;
  readonly connections: number;
  /** BOUNDED allows less than was requested. */
  readonly isCapped: boolean;
}

/**
 * WT5. Connections that one process drives well, where a template does not say: about 0.7 of a
 * thread, with what an operation costs its client and how long it usually takes to be answered.
 * SQLite: each connection has a thread of its own, so that cores are what is short. DuckDB: one
 * process has the file, so that there is never a second worker.
 */
const capacityOf: Readonly<Record<TargetConfig["kind"], number>> = {
  postgres: 64,
  mysql: 32,
  http: 32,
  snowflake: 32,
  sqlite: 16,
  duckdb: Infinity,
};
/** The cost of one operation: CPU time of the sending thread, and latency. */
export interface Calibration {
  readonly cpuMs: number;
  readonly latencyMs: number;
}

const busyShare = 0.7;
const usualFactor = 4;

/** WT5 */
export function capacityBy(kind: TargetConfig["kind"], { cpuMs, latencyMs }: Calibration): number {
  const usual = capacityOf[kind];
  const found = cpuMs > 0 ? Math.floor((busyShare * latencyMs) / cpuMs) : Infinity;
  return Math.max(Math.ceil(usual / usualFactor), Math.min(found, usual * usualFactor));
}

/**
 * Whether a calibration is needed: the user gave no capacity, and one worker may not drive all
 * connections.
 */
export function wantsCalibration(scenario: Scenario, connections: number): boolean {
  const { scaling, target, workload } = scenario;
  const usual = capacityOf[target.kind];
  const isGiven = scaling.perWorkerCapacity !== null || scaling.workerCount !== null;
  // A file has one process, or its threads are what is short.
  if (isGiven || scaling.mode === "FIXED" || usual <= 16 || usual === Infinity) return false;
  return workload.loadMode !== "CONCURRENCY" || connections > usual / usualFactor;
}

/** A larger number is a typing error, or needs another tool. */
export const workersMax = 100;

/** Chooses the number of workers for this many connections. */
export function decideShape(
  { scaling, workload, target }: Scenario,
  connections: number,
): RunShape {
  const minConnections = scaling.minConnections ?? 1;
  if (scaling.mode === "FIXED") {
    const workers = scaling.minWorkers ?? 1;
    return { workers, connections: workers * minConnections, isCapped: false };
  }
  const isBounded = scaling.mode === "BOUNDED";
  const capacity = Math.max(1, scaling.perWorkerCapacity ?? capacityOf[target.kind]);
  const perWorkerMax = isBounded
    ? Math.min(scaling.maxConnections ?? Infinity, capacity)
    : capacity;
  const workersMax = isBounded ? (scaling.maxWorkers ?? Infinity) : Infinity;
  const needed = scaling.workerCount ?? Math.ceil(connections / perWorkerMax);
  const affordable = Math.max(1, Math.floor(connections / minConnections)); // WT3
  const least = isBounded ? (scaling.minWorkers ?? 1) : 1;
  const workers = Math.min(workersMax, Math.max(least, Math.min(needed, affordable)));
  // A user's worker count is used as given; otherwise no worker gets more than it can drive.
  const ceiling = isBounded ? workers * (scaling.maxConnections ?? Infinity) : Infinity;
  const given = Math.max(
    workers * (workload.loadMode === "QPS" ? 1 : 0),
    Math.min(connections, ceiling),
  );
  return { workers, connections: given, isCapped: given < connections };
}

/** `count` parts that differ by at most one, the greater ones first. */
export function shareOut(total: number, count: number): readonly number[] {
  const least = Math.floor(total / count);
  const more = total - least * count;
  return Array.from({ length: count }, (_, index) => least + (index < more ? 1 : 0));
}

/** Targets by worker id, in the given order. */
export function decideTargets(
  workerIds: readonly string[],
  load: { readonly connections: number; readonly qps: number | null },
  step: Pick<WorkerTarget, "stepId" | "stepNumber">,
): Targets {
  if (workerIds.length === 0) return {};
  const connections = shareOut(load.connections, workerIds.length);
  return Object.fromEntries(
    workerIds.map((workerId, index) => [
      workerId,
      {
        connections: connections[index] ?? 0,
        qps: load.qps === null ? null : load.qps / workerIds.length,
        ...step,
      },
    ]),
  );
}

/** A worker's initial target: its share of the run's target, by its group. */
export function initialTarget(
  scenario: Scenario,
  worker: { readonly groupId: number; readonly groupCount: number },
): WorkerTarget {
  const { workload, findMax } = scenario;
  const isFindMax = workload.loadMode === "FIND_MAX_CONCURRENCY";
  const wanted = isFindMax ? findMax.startConcurrency : workload.concurrentConnections;
  const { connections } = decideShape(scenario, wanted);
  const isOpen = workload.loadMode === "QPS";
  return {
    connections: shareOut(connections, worker.groupCount)[worker.groupId] ?? 0,
    qps: isOpen ? (workload.targetQps ?? 0) / worker.groupCount : null,
    stepId: null,
    stepNumber: null,
  };
}
