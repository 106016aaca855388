/** How much load a run has at a moment, and which workers share it. Rules: PN1 to PN3. */
import { isSameTarget, type Targets, type WorkerTarget } from "./control-events.ts";
import type { Scenario } from "./scenario.ts";
import { decideShape, decideTargets } from "./worker-targets.ts";

export interface PlannedLoad {
  readonly connections: number;
  readonly qps: number | null;
  readonly rampSeconds: number;
  readonly reason: string;
  /** When it begins, in milliseconds since MEASUREMENT began. Undefined means at once. */
  readonly fromMs?: number;
}

/** `measuredMs` is the time since MEASUREMENT began, undefined before that. */
export function plannedLoad(scenario: Scenario, measuredMs: number | undefined): PlannedLoad {
  return stageLoad(scenario, stageAt(scenario, measuredMs));
}

/** Stage 0 is the run's own target. */
export function stageLoad({ workload }: Scenario, number: number): PlannedLoad {
  const isQps = workload.loadMode === "QPS";
  const base = {
    connections: workload.concurrentConnections,
    qps: isQps ? (workload.targetQps ?? 0) : null,
  };
  const stage = workload.stages[number - 1];
  if (stage === undefined) {
    return { ...base, rampSeconds: workload.rampSeconds, reason: "run_target" };
  }
  const { target, durationSeconds: rampSeconds } = stage;
  const before = workload.stages.slice(0, number - 1);
  const fromMs = before.reduce((sum, { durationSeconds: seconds }) => sum + seconds * 1000, 0);
  const changed = isQps ? { qps: target } : { connections: Math.round(target) };
  return { ...base, ...changed, rampSeconds, fromMs, reason: `stage_${number}` };
}

/**
 * The number of the stage at a moment, from 1; 0 when none has begun. After the last stage its
 * target stays (PN1).
 */
export function stageAt({ workload }: Scenario, measuredMs: number | undefined): number {
  if (measuredMs === undefined || measuredMs < 0) return 0;
  let endMs = 0;
  const index = workload.stages.findIndex(({ durationSeconds: seconds }) => {
    endMs += seconds * 1000;
    return measuredMs < endMs;
  });
  return index < 0 ? workload.stages.length : index + 1;
}

/**
 * The highest number of connections in the run's plan: the run starts enough workers for all of
 * them.
 */
export function peakConnections({ workload, findMax }: Scenario): number {
  if (workload.loadMode === "FIND_MAX_CONCURRENCY") return findMax.startConcurrency;
  if (workload.loadMode === "QPS") return workload.concurrentConnections;
  const stages = workload.stages.map(({ target }) => Math.round(target));
  return Math.max(workload.concurrentConnections, ...stages);
}

/**
 * Limits the load to what the scaling mode allows. A search for the maximum chooses its own
 * connections.
 */
export function allowedLoad(scenario: Scenario, load: PlannedLoad): PlannedLoad {
  const { mode } = scenario.scaling;
  if (scenario.workload.loadMode === "FIND_MAX_CONCURRENCY") {
    return { ...load, connections: Math.min(load.connections, connectionsCeiling(scenario)) };
  }
  if (mode === "AUTO") return load;
  return { ...load, connections: decideShape(scenario, load.connections).connections };
}

/** The load after a guardrail has reduced it to `share`. */
export function reducedLoad(load: PlannedLoad, share: number): PlannedLoad {
  if (share === 1) return load;
  return {
    connections: Math.max(1, Math.floor(load.connections * share)),
    qps: load.qps === null ? null : load.qps * share,
    rampSeconds: 0,
    reason: "guardrail_back_off",
  };
}

/** The maximum of BOUNDED; other modes have none. */
export function connectionsCeiling({ scaling }: Scenario): number {
  if (scaling.mode !== "BOUNDED") return Infinity;
  return (scaling.maxWorkers ?? Infinity) * (scaling.maxConnections ?? Infinity);
}

export interface TargetChange {
  readonly targets: Targets;
  /** PN2. */
  readonly changed: readonly string[];
}

/**
 * `sharers` are the workers of PN3, in the order of their groups. Undefined when nothing has to
 * change.
 */
export function decideTargetChange(
  current: Targets,
  sharers: readonly string[],
  load: PlannedLoad,
  step: Pick<WorkerTarget, "stepId" | "stepNumber">,
): TargetChange | undefined {
  if (sharers.length === 0) return undefined;
  const targets = decideTargets(sharers, load, step);
  const changed = sharers.filter((id) => !isSameTarget(current[id], targets[id]));
  const hasLeft = Object.keys(current).some((id) => targets[id] === undefined);
  return changed.length === 0 && !hasLeft ? undefined : { targets, changed };
}
