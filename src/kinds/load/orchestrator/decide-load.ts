/**
 * What a running run's load becomes: guardrails, scaling, the steps of a search, and who has which
 * share. Pure: what it needs of a step that was measured is given to it.
 */
import { stopAction } from "../core/decide-run.ts";
import type { StepVerdict } from "../core/find-max.ts";
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
  stageAt,
  stageLoad,
} from "../core/load-plan.ts";
import { beginScaling, decideScaling } from "../core/qps-scaling.ts";
import type { ControlState } from "../core/run-record.ts";
import type { Scenario } from "../core/scenario.ts";
import { decideShape, workersMax } from "../core/worker-targets.ts";
import { type MeasuredStep, stepIdOf } from "../store/run-series.ts";
import type { RunChange, RunLog, RunLook } from "../store/run-store.ts";
import { changeOf, mergeChanges, targetChangeOf } from "./change-of.ts";

/** A stage is announced this long before it begins. */
const stageLeadMs = 5_000;

const controlNone: ControlState = { guardrails: noGuardrailState, loadShare: 1, scaling: null };

export interface LoadFacts {
  readonly look: RunLook;
  readonly guardrails: Omit<GuardrailFacts, "nowMs">;
  /** Operations of all workers and phases. */
  readonly ops: number;
  readonly waiting: number;
  readonly isServerQueued: boolean;
  /** Only when `wantsStep` returned a step. */
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
  const before = run.control ?? controlNone;
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
  const { change: shared, stage } = decideShares(facts, control, search?.progress);
  if (stage > 0) control = { ...control, stage };
  const isControlNew = JSON.stringify(control) !== JSON.stringify(run.control);
  return mergeChanges([
    isControlNew ? { control } : {},
    search?.change ?? {},
    shared,
    logs.length === 0 ? {} : { logs },
  ]);
}

/**
 * The stages sent with START when MEASUREMENT begins soon: the next look would be too late (OR6).
 */
export function decideFirstStages(look: RunLook, beginMs: number): RunChange {
  if (look.run.scenario.workload.stages.length === 0) return {};
  const begun = { ...look, measurementAnnouncedMs: beginMs };
  const { change, stage } = decideShares({ look: begun }, controlNone, undefined);
  return stage === 0 ? {} : mergeChanges([change, { control: { ...controlNone, stage } }]);
}

/** The workers that can be given a target now. */
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
  if (scenario.workload.loadMode !== "FIND_MAX_CONCURRENCY") return undefined;
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
    const { progress, verdict, rejudged } = judged(scenario, findMax, measuredStep.all, nowMs);
    const { step, connections } = findMax.state;
    const { qps, qpsLow, qpsHigh, secondsDiscarded: late } = measuredStep.own;
    const rate = `${qps.toFixed(0)} operations a second (${qpsLow.toFixed(0)} to ${qpsHigh.toFixed(0)})`;
    const left = late === 0 ? "" : `, without ${late} s in which the load generator was late`;
    const message = `step ${step}, ${connections} connections, ${rate}${left}: ${outcomeText(verdict)}`;
    const changed = rejudged.filter((each) => each.before.outcome !== each.verdict.outcome);
    const anew = changed.map(
      (each) =>
        `step ${each.step}, ${each.connections} connections, is judged anew: ${outcomeText(each.verdict)}`,
    );
    return {
      progress,
      change: {
        findMax: progress,
        step: { before: findMax, measured: measuredStep, verdict, rejudged, endMs: nowMs },
        logs: [message, ...anew].map((text) => ({ level: "INFO", message: text })),
      },
    };
  }
  if (isServerQueued && findMax.stage === "measuring" && !findMax.queueDetected) {
    const progress = { ...findMax, queueDetected: true };
    return { progress, change: { findMax: progress } };
  }
  return { progress: findMax, change: {} };
}

function outcomeText({ outcome, reason }: StepVerdict): string {
  return `${outcome ?? ""} ${reason}`.trim();
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
      run.scenario.workload.rampSeconds * 1000;
  const now = {
    nowMs,
    ops: facts.ops,
    waiting: facts.waiting,
    targetQps: load.qps ?? 0,
    isRamping: isStarting || isRamping(planned, measuredMsOf(facts.look)),
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

/**
 * `stage`: the last one that was told. Each is told once, ahead, and none is left out, however
 * short it is.
 */
function decideShares(
  { look }: Pick<LoadFacts, "look">,
  { loadShare, scaling, stage: told = 0 }: ControlState,
  progress: FindMaxProgress | undefined,
): { readonly change: RunChange; readonly stage: number } {
  const { run } = look;
  const { scenario } = run;
  const sharers = sharersOf(look);
  const isSearch = scenario.workload.loadMode === "FIND_MAX_CONCURRENCY";
  const measuredMs = measuredMsOf(look);
  const ahead = measuredMs === undefined ? 0 : stageAt(scenario, measuredMs + stageLeadMs);
  const due = isSearch || sharers.length === 0 ? told : Math.max(told, ahead);
  const first = Math.min(due, told + 1);
  const step = progress === undefined ? 0 : stepOf(progress);
  const changes: RunChange[] = [];
  let { targets } = run;
  for (let stage = first; stage <= due; stage += 1) {
    const wished = wishedLoad(scenario, stage, progress, scaling?.connections);
    const load = isSearch ? wished : reducedLoad(wished, loadShare);
    const change = decideTargetChange(targets, sharers, load, {
      stepId: step === 0 ? null : stepIdOf(run.runId, step),
      stepNumber: progress === undefined ? null : step,
    });
    targets = change?.targets ?? targets;
    if (change !== undefined) changes.push(targetChangeOf(change, load, beginMsOf(look, load)));
    const needed = Math.min(workersMax, decideShape(scenario, wished.connections).workers);
    if (needed > run.expectedWorkers) changes.push({ expectedWorkers: needed });
  }
  return { change: mergeChanges(changes), stage: due };
}

function wishedLoad(
  scenario: Scenario,
  stage: number,
  progress: FindMaxProgress | undefined,
  grown: number | undefined,
): PlannedLoad {
  if (scenario.workload.loadMode === "FIND_MAX_CONCURRENCY") {
    const connections = progress?.state.connections ?? scenario.findMax.startConcurrency;
    return allowedLoad(scenario, {
      connections,
      qps: null,
      rampSeconds: 0,
      reason: "step_advance",
    });
  }
  const planned = stageLoad(scenario, stage);
  const load = allowedLoad(scenario, planned);
  return {
    ...load,
    connections: Math.max(load.connections, grown ?? 0),
    // The run's own ramp was sent with START.
    rampSeconds: stage === 0 ? 0 : planned.rampSeconds,
  };
}

/** Whether a stage's ramp is in progress. */
function isRamping({ fromMs, rampSeconds }: PlannedLoad, measuredMs: number | undefined): boolean {
  return fromMs !== undefined && (measuredMs ?? 0) < fromMs + rampSeconds * 1000;
}

/** Negative between the announcement and the beginning of MEASUREMENT. */
function measuredMsOf(look: RunLook): number | undefined {
  const beginMs = measurementBeginMs(look);
  return beginMs === null ? undefined : look.nowMs - beginMs;
}

function measurementBeginMs({ run, measurementAnnouncedMs }: RunLook): number | null {
  return run.phase === "MEASUREMENT" ? run.warmupEndTimeMs : measurementAnnouncedMs;
}

function beginMsOf(look: RunLook, { fromMs }: PlannedLoad): number | null {
  const beginMs = measurementBeginMs(look);
  return fromMs === undefined || beginMs === null ? null : beginMs + fromMs;
}
