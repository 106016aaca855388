/** Turns the decisions of `decideRun` and about load into changes of the store and events. Pure. */
import type { ControlEvent, Targets } from "../core/control-events.ts";
import { type RunAction, startLeadMs } from "../core/decide-run.ts";
import { groupOf, type LoadWorkerId } from "../core/ids.ts";
import { type PlannedLoad, plannedLoad, type TargetChange } from "../core/load-plan.ts";
import { drainTimeoutMs } from "../core/run-state.ts";
import type { RunChange, RunLog, RunLook } from "../store/run-store.ts";

/** Merges changes; later ones win. */
export function mergeChanges(changes: readonly RunChange[]): RunChange {
  const events = changes.flatMap((change) => change.events ?? []);
  const logs = changes.flatMap((change) => change.logs ?? []);
  const deadWorkers = changes.flatMap((change) => change.deadWorkers ?? []);
  const merged: RunChange = Object.assign({}, ...changes);
  return {
    ...merged,
    ...(events.length === 0 ? {} : { events }),
    ...(logs.length === 0 ? {} : { logs }),
    ...(deadWorkers.length === 0 ? {} : { deadWorkers }),
  };
}

export function isEmptyChange(change: RunChange): boolean {
  return Object.keys(change).length === 0;
}

export function changeOf(look: RunLook, action: RunAction, initiatedBy: string): RunChange {
  const { run, nowMs } = look;
  switch (action.kind) {
    case "begin": {
      // Without a warm-up all workers must begin at the same moment.
      const atMs = action.phase === "WARMUP" ? null : nowMs + startLeadMs;
      return {
        phase: action.phase,
        ...(atMs === null ? { warmupStartTimeMs: nowMs } : { warmupEndTimeMs: atMs }),
        events: [
          ...targetEvents(
            run.targets,
            Object.keys(run.targets),
            plannedLoad(run.scenario, undefined).rampSeconds,
            "run_target",
            null,
          ),
          { type: "START", to: { scope: "RUN" }, expectedWorkers: run.expectedWorkers },
          phaseEvent(action.phase, atMs),
        ],
        logs: [line(`all workers are ready (${run.expectedWorkers}): ${action.phase} begins`)],
      };
    }
    case "announceMeasurement":
      return { events: [phaseEvent("MEASUREMENT", action.atMs)] };
    case "enterMeasurement": {
      // Who was not told before changes now, whenever it should have been.
      const isTold = look.measurementAnnouncedMs !== null;
      return {
        phase: "MEASUREMENT",
        warmupEndTimeMs: isTold ? action.atMs : nowMs,
        ...(isTold ? {} : { events: [phaseEvent("MEASUREMENT", null)] }),
        logs: [line("MEASUREMENT begins")],
      };
    }
    case "markDead":
      return {
        deadWorkers: [{ workerId: action.workerId, why: action.why }],
        logs: [
          {
            level: "ERROR",
            message: `${action.workerId} is lost: ${action.why}`,
            workerId: action.workerId,
          },
        ],
      };
    case "warn":
      return { logs: [line(action.message, "WARNING")] };
    case "stop":
      return {
        status: action.status,
        phase: "COOLDOWN",
        stopTimeMs: nowMs,
        ...begunUnseen(look),
        stopReason: action.reason,
        cancellationReason: action.cancellationReason,
        events: [
          {
            type: "STOP",
            to: { scope: "RUN" },
            reason: action.reason,
            initiatedBy,
            drainMs: drainTimeoutMs,
            atMs: nowMs,
          },
        ],
        logs: [
          line(
            `STOP: ${action.cancellationReason ?? action.reason}`,
            action.status === "STOPPING" ? "INFO" : "WARNING",
          ),
        ],
      };
    case "finalize":
      return {};
  }
}

/** Workers enter an announced MEASUREMENT at its moment, whether or not a look came in between. */
function begunUnseen({ run, nowMs, measurementAnnouncedMs: atMs }: RunLook): RunChange {
  const hasBegun = run.warmupEndTimeMs === null && atMs !== null && atMs <= nowMs;
  return hasBegun ? { warmupEndTimeMs: atMs } : {};
}

export function targetChangeOf(
  { targets, changed }: TargetChange,
  { rampSeconds, reason }: Pick<PlannedLoad, "rampSeconds" | "reason">,
  /** By the store's clock; null means now. */
  atMs: number | null,
): RunChange {
  return { targets, events: targetEvents(targets, changed, rampSeconds, reason, atMs) };
}

function targetEvents(
  targets: Targets,
  workerIds: readonly string[],
  rampSeconds: number,
  reason: string,
  atMs: number | null,
): readonly ControlEvent[] {
  return (workerIds as readonly LoadWorkerId[]).flatMap((workerId): readonly ControlEvent[] => {
    const target = targets[workerId];
    if (target === undefined) return [];
    const to = { scope: "WORKER", workerId, groupId: groupOf(workerId) } as const;
    return [{ type: "SET_WORKER_TARGET", to, target, rampSeconds, reason, atMs }];
  });
}

function phaseEvent(phase: "WARMUP" | "MEASUREMENT", atMs: number | null): ControlEvent {
  return { type: "SET_PHASE", to: { scope: "RUN" }, phase, atMs };
}

function line(message: string, level: RunLog["level"] = "INFO"): RunLog {
  return { level, message };
}
