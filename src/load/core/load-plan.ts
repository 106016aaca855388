/**
 * How much load a run has at a moment, and between whom it is shared.
 *
 *   LP1  Stages begin with MEASUREMENT. Each goes in a straight line from where the one before ended (the first: from the run's own
 *        target) to its target; after the last its target stays. The ramp of a stage ends with the stage, whenever it is announced.
 *   LP2  Only workers whose target changes are told. What is stored is every worker's target: who missed an event reads it there.
 *   LP3  Who has ended, is lost, or has not come yet has no share; what the others have sums to the run's load.
 */
import type { Scenario, StageConfig } from "./scenario.ts";
import type { WorkerTarget } from "./worker-control.ts";
import { decideShape, decideTargets } from "./worker-targets.ts";

export interface PlannedLoad {
  readonly connections: number;
  readonly qps: number | null;
  readonly rampSeconds: number;
  readonly reason: string;
}

export type Targets = Readonly<Record<string, WorkerTarget>>;

/** `measuredMs`: since MEASUREMENT began; `undefined`: it has not. */
export function plannedLoad({ workload }: Scenario, measuredMs: number | undefined): PlannedLoad {
  const isQps = workload.load_mode === "QPS";
  const base = {
    connections: workload.concurrent_connections,
    qps: isQps ? (workload.target_qps ?? 0) : null,
  };
  const stage = measuredMs === undefined ? undefined : stageAt(workload.stages, measuredMs);
  if (stage === undefined) {
    return { ...base, rampSeconds: workload.ramp_seconds, reason: "run_target" };
  }
  const changed = isQps ? { qps: stage.target } : { connections: Math.round(stage.target) };
  return { ...base, ...changed, rampSeconds: stage.restSeconds, reason: `stage_${stage.number}` };
}

/** The most connections that the run's own plan ever asks for: workers are there for all of them from the beginning. */
export function peakConnections({ workload, find_max: findMax }: Scenario): number {
  if (workload.load_mode === "FIND_MAX_CONCURRENCY") return findMax.start_concurrency;
  if (workload.load_mode === "QPS") return workload.concurrent_connections;
  const stages = workload.stages.map(({ target }) => Math.round(target));
  return Math.max(workload.concurrent_connections, ...stages);
}

/** Within what the scaling mode allows. A search for the maximum says itself how many. */
export function allowedLoad(scenario: Scenario, load: PlannedLoad): PlannedLoad {
  const { mode } = scenario.scaling;
  if (scenario.workload.load_mode === "FIND_MAX_CONCURRENCY") {
    return { ...load, connections: Math.min(load.connections, connectionsCeiling(scenario)) };
  }
  if (mode === "AUTO") return load;
  return { ...load, connections: decideShape(scenario, load.connections).connections };
}

/** A share of the load, as a guardrail leaves it. */
export function reducedLoad(load: PlannedLoad, share: number): PlannedLoad {
  if (share === 1) return load;
  return {
    connections: Math.max(1, Math.floor(load.connections * share)),
    qps: load.qps === null ? null : load.qps * share,
    rampSeconds: 0,
    reason: "guardrail_back_off",
  };
}

/** BOUNDED's most; otherwise there is none. */
export function connectionsCeiling({ scaling }: Scenario): number {
  if (scaling.mode !== "BOUNDED") return Infinity;
  return (scaling.max_workers ?? Infinity) * (scaling.max_connections ?? Infinity);
}

export interface TargetChange {
  readonly targets: Targets;
  /** LP2. */
  readonly changed: readonly string[];
}

/** `sharers`: LP3, in the order of their groups. `undefined`: all is as it should be. */
export function decideTargetChange(
  current: Targets,
  sharers: readonly string[],
  load: PlannedLoad,
  step: { readonly step_id: string | null; readonly step_number: number | null },
): TargetChange | undefined {
  if (sharers.length === 0) return undefined;
  const targets = decideTargets(sharers, load, step);
  const changed = sharers.filter((id) => !isSame(current[id], targets[id]));
  const hasLeft = Object.keys(current).some((id) => targets[id] === undefined);
  return changed.length === 0 && !hasLeft ? undefined : { targets, changed };
}

function isSame(left: WorkerTarget | undefined, right: WorkerTarget | undefined): boolean {
  return (
    left?.target_connections === right?.target_connections &&
    left?.target_qps === right?.target_qps &&
    left?.step_number === right?.step_number
  );
}

/** LP1 */
function stageAt(
  stages: readonly StageConfig[],
  measuredMs: number,
): { readonly number: number; readonly target: number; readonly restSeconds: number } | undefined {
  let endMs = 0;
  for (const [index, { duration_seconds: seconds, target }] of stages.entries()) {
    endMs += seconds * 1000;
    if (measuredMs < endMs) {
      return { number: index + 1, target, restSeconds: (endMs - measuredMs) / 1000 };
    }
  }
  const last = stages.at(-1);
  return last && { number: stages.length, target: last.target, restSeconds: 0 };
}
