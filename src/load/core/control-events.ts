/** What the orchestrator tells workers: rows of `run_control_events`, ordered by `sequence_id`. */
import type { RunPhase, StopReason } from "./run-state.ts";

export type EventScope =
  | { readonly scope: "RUN" }
  | { readonly scope: "WORKER_GROUP"; readonly worker_group_id: number }
  | { readonly scope: "WORKER"; readonly worker_id: string; readonly worker_group_id?: number };

export type ControlEvent =
  | {
      readonly event_type: "START";
      readonly event_data: EventScope & { readonly expected_workers: number };
    }
  | {
      readonly event_type: "STOP";
      readonly event_data: EventScope & {
        readonly reason: StopReason;
        readonly initiated_by: string;
        readonly drain_timeout_seconds: number;
        /**
         * When the run stopped, as ISO 8601 by the store's clock. Not given by earlier versions: when
         * it is heard.
         */
        readonly effective_at?: string;
      };
    }
  | {
      readonly event_type: "SET_PHASE";
      readonly event_data: EventScope & {
        readonly phase: RunPhase;
        readonly effective_at: string | null;
      };
    }
  | {
      readonly event_type: "SET_WORKER_TARGET";
      readonly event_data: EventScope & WorkerTargetData;
    };

/** Absolute; nobody computes differences. */
export interface WorkerTargetData {
  readonly target_connections: number;
  readonly target_qps: number | null;
  readonly step_id: string | null;
  readonly step_number: number | null;
  /** ISO 8601, by the store's clock; `null`: now. */
  readonly effective_at: string | null;
  readonly ramp_seconds: number;
  readonly reason: string;
}

export type SequencedEvent = ControlEvent & { readonly sequence_id: number };

export function appliesTo(
  { event_data: data }: ControlEvent,
  worker: { readonly workerId: string; readonly groupId: number },
): boolean {
  switch (data.scope) {
    case "RUN":
      return true;
    case "WORKER_GROUP":
      return data.worker_group_id === worker.groupId;
    case "WORKER":
      return data.worker_id === worker.workerId;
  }
}
