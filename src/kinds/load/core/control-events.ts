/**
 * Events that the orchestrator sends to workers, in the order of `sequence`. Times are by the
 * store's clock. `store/control-event-codec.ts` converts them to rows of `run_control_events`.
 */
import type { LoadWorkerId } from "./ids.ts";
import type { RunPhase, StopReason } from "./run-state.ts";

export type EventScope =
  | { readonly scope: "RUN" }
  | { readonly scope: "WORKER_GROUP"; readonly groupId: number }
  | { readonly scope: "WORKER"; readonly workerId: LoadWorkerId; readonly groupId?: number };

/** Absolute values, never differences. */
export interface WorkerTarget {
  readonly connections: number;
  readonly qps: number | null;
  readonly stepId: string | null;
  readonly stepNumber: number | null;
}

/** By worker id. */
export type Targets = Readonly<Record<string, WorkerTarget>>;

/** The event takes effect at `atMs`; null means as soon as a worker receives it. */
export type ControlEvent = { readonly to: EventScope } & (
  | { readonly type: "START"; readonly expectedWorkers: number }
  | {
      readonly type: "STOP";
      readonly reason: StopReason;
      readonly initiatedBy: string;
      readonly drainMs: number;
      readonly atMs: number | null;
    }
  | { readonly type: "SET_PHASE"; readonly phase: RunPhase; readonly atMs: number | null }
  | {
      readonly type: "SET_WORKER_TARGET";
      readonly target: WorkerTarget;
      readonly rampSeconds: number;
      readonly reason: string;
      readonly atMs: number | null;
    }
);

export type SequencedEvent = ControlEvent & { readonly sequence: number };

export function appliesTo(
  { to }: ControlEvent,
  worker: { readonly workerId: LoadWorkerId; readonly groupId: number },
): boolean {
  switch (to.scope) {
    case "RUN":
      return true;
    case "WORKER_GROUP":
      return to.groupId === worker.groupId;
    case "WORKER":
      return to.workerId === worker.workerId;
  }
}

export function isSameTarget(
  left: WorkerTarget | undefined,
  right: WorkerTarget | undefined,
): boolean {
  return (
    left?.connections === right?.connections &&
    left?.qps === right?.qps &&
    left?.stepNumber === right?.stepNumber
  );
}
