/**
 * What a running run's load becomes: guardrails, scaling, the steps of a search, and who has which share. Pure: what it needs of a step
 * that was measured is given to it.
 */
import { stopAction } from "../core/decide-run.ts";
import {
  beginProgress,
  type FindMaxProgress,
  isMeasured,
  isSettled,
  judged,
  measuring,
  stepOf,
} from "../core/find-max-run.ts";
import { decideGuardrails, type GuardrailFacts, noGuardrailState } from "../core/guardrails.ts";
import {
  allowedLoad,
  decideTargetChange,
  type PlannedLoad,
  plannedLoad,
  reducedLoad,
} from "../core/load-plan.ts";
import { beginScaling, decideScaling } from "../core/qps-scaling.ts";
import { decideShape, workersMax } from "../core/worker-targets.ts";
import type { ControlState } from "../store/run-rows.ts";
import { type MeasuredStep, stepIdOf } from "../store/run-series.ts";
import type { RunChange, RunLog, RunLook } from "../store/run-store.ts";
import { changeOf, mergeChanges, targetChangeOf } from "./change-of.ts";

export interface LoadFacts {
  readonly look: RunLook;
  readonly guardrails: Omit<GuardrailFacts, "nowMs">;
  /** Of all workers and phases. */
  readonly ops: number;
  readonly waiting: number;
  readonly isServerQueued: boolean;
  /** Only when `wantsStep` said so. */
  readonly measuredStep: MeasuredStep | undefined;
}

/** The step whose figures are needed for the next decision. */
export function wantsStep({ run, nowMs }: RunLook): FindMaxProgress | undefined {
  const { findMax, scenario } = run;
  return findMax !== null && isMeasured(scenario, findMax, nowMs) ? findMax : undefined;
}

export function decideLoad(facts: LoadFacts): RunChange {
  const { look } = facts;
  const { run, nowMs } = look;
  const before: ControlState = run.control ?? {
    guardrails: noGuardrailState,
    loadShare: 1,
    scaling: null,
  };
  const logs: RunLog[] = [];
  const guarded = decideGuardrails(run.scenario.guardrails, before.guardrails, {
    nowMs,
    ...facts.guardrails,
  });
  if (guarded.decision.kind === "fail") {
    return changeOf(look, stopAction("guardrail", guarded.decision.detail), "orchestrator");
  }
  let control: ControlState = { ...before, guardrails: guarded.state };
  if (guarded.decision.kind === "backOff") {
    control = { ...control, loadShare: guarded.decision.share };
    logs.push({ level: "WARNING", message: `load is taken back: ${guarded.decision.detail}` });
  }
  const search = decideSearch(facts);
  if (search?.progress.stage === "done") {
    const stop = changeOf(look, stopAction("find_max_done", ""), "orchestrator");
    return mergeChanges([search.change, stop]);
  }
  const scaled = decideGrowth(facts, control, logs);
  if (scaled === "limit") {
    return changeOf(look, stopAction("bounds_limit_reached", ""), "orchestrator");
  }
  control = scaled;
  const shared = decideShares(facts, control, search?.progress);
  const isControlNew = JSON.stringify(control) !== JSON.stringify(run.control);
  return mergeChanges([
    isControlNew ? { control } : {},
    search?.change ?? {},
    shared,
    logs.length === 0 ? {} : { logs },
  ]);
}

/** Who can be told to do something now. */
export function sharersOf({ workers }: RunLook): readonly string[] {
  return workers
    .filter(({ status }) => status === "READY" || status === "RUNNING")
    .map(({ workerId }) => workerId);
}

function decideSearch({
  look,
  measuredStep,
  isServerQueued,
}: LoadFacts): { progress: FindMaxProgress; change: RunChange } | undefined {
  const { run, nowMs, workers } = look;
  const { scenario } = run;
  if (scenario.workload.load_mode !== "FIND_MAX_CONCURRENCY") return undefined;
  if (run.phase !== "MEASUREMENT") return undefined;
  if (run.findMax === null) {
    const progress = beginProgress(scenario, nowMs);
    return { progress, change: { findMax: progress } };
  }
  const lost = workers.filter(({ status }) => status === "DEAD" || status === "FAILED").length;
  const isEverybodyThere = sharersOf(look).length >= run.expectedWorkers - lost;
  const { findMax } = run;
  if (isSettled(scenario, findMax, nowMs, isEverybodyThere)) {
    const progress = measuring(findMax, nowMs);
    return { progress, change: { findMax: progress } };
  }
  if (measuredStep !== undefined) {
    const { progress, verdict } = judged(scenario, findMax, measuredStep, nowMs);
    const { step, connections } = findMax.state;
    const rate = `${measuredStep.qps.toFixed(0)} operations a second`;
    const message = `step ${step}, ${connections} connections, ${rate}: ${verdict.outcome} ${verdict.reason}`;
    return {
      progress,
      change: {
        findMax: progress,
        step: { before: findMax, measured: measuredStep, verdict, endMs: nowMs },
        logs: [{ level: "INFO", message: message.trim() }],
      },
    };
  }
  if (isServerQueued && findMax.stage === "measuring" && !findMax.queueDetected) {
    const progress = { ...findMax, queueDetected: true };
    return { progress, change: { findMax: progress } };
  }
  return { progress: findMax, change: {} };
}

function decideGrowth(
  facts: LoadFacts,
  control: ControlState,
  logs: RunLog[],
): ControlState | "limit" {
  const { run, nowMs } = facts.look;
  const planned = plannedLoad(run.scenario, measuredMsOf(facts.look));
  if (planned.qps === null) return control;
  const load = reducedLoad(allowedLoad(run.scenario, planned), control.loadShare);
  const isStarting =
    nowMs <
    (run.warmupStartTimeMs ?? run.warmupEndTimeMs ?? nowMs) +
      run.scenario.workload.ramp_seconds * 1000;
  const now = {
    nowMs,
    ops: facts.ops,
    waiting: facts.waiting,
    targetQps: load.qps ?? 0,
    isRamping: isStarting || (planned.reason !== "run_target" && planned.rampSeconds > 0),
  };
  if (control.scaling === null) {
    return { ...control, scaling: beginScaling(load.connections, now) };
  }
  const { state: scaling, decision } = decideScaling(run.scenario, control.scaling, now);
  if (decision.kind === "limit") return "limit";
  if (decision.kind === "grow") {
    logs.push({
      level: "INFO",
      message: `arrivals wait: ${decision.connections} connections from now on`,
    });
  }
  if (decision.kind === "exhausted") {
    logs.push({
      level: "WARNING",
      message: `more connections than ${decision.connections} do not help: the target answers no faster`,
    });
  }
  return { ...control, scaling };
}

function decideShares(
  { look }: LoadFacts,
  { loadShare, scaling }: ControlState,
  progress: FindMaxProgress | undefined,
): RunChange {
  const { run } = look;
  const { scenario } = run;
  const wished = wishedLoad(look, progress, scaling?.connections);
  const isSearch = scenario.workload.load_mode === "FIND_MAX_CONCURRENCY";
  const load = isSearch ? wished : reducedLoad(wished, loadShare);
  const step = progress === undefined ? 0 : stepOf(progress);
  const change = decideTargetChange(run.targets, sharersOf(look), load, {
    step_id: step === 0 ? null : stepIdOf(run.runId, step),
    step_number: progress === undefined ? null : step,
  });
  const needed = Math.min(workersMax, decideShape(scenario, wished.connections).workers);
  return mergeChanges([
    change === undefined ? {} : targetChangeOf(change, load.rampSeconds, load.reason),
    needed > run.expectedWorkers ? { expectedWorkers: needed } : {},
  ]);
}

function wishedLoad(
  look: RunLook,
  progress: FindMaxProgress | undefined,
  grown: number | undefined,
): PlannedLoad {
  const { scenario } = look.run;
  if (scenario.workload.load_mode === "FIND_MAX_CONCURRENCY") {
    const connections = progress?.state.connections ?? scenario.find_max.start_concurrency;
    return allowedLoad(scenario, {
      connections,
      qps: null,
      rampSeconds: 0,
      reason: "step_advance",
    });
  }
  const planned = plannedLoad(scenario, measuredMsOf(look));
  const load = allowedLoad(scenario, planned);
  return {
    ...load,
    connections: Math.max(load.connections, grown ?? 0),
    // Its own ramp was told with START.
    rampSeconds: planned.reason === "run_target" ? 0 : planned.rampSeconds,
  };
}

function measuredMsOf({ run, nowMs }: RunLook): number | undefined {
  const { phase, warmupEndTimeMs } = run;
  return phase === "MEASUREMENT" && warmupEndTimeMs !== null ? nowMs - warmupEndTimeMs : undefined;
}
