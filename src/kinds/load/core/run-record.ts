/** A run, and its workers, as the store has them. */
import type { Targets } from "./control-events.ts";
import type { FindMaxProgress } from "./find-max-run.ts";
import type { GuardrailState } from "./guardrails.ts";
import type { LoadWorkerId, RunId } from "./ids.ts";
import type { ScalingState } from "./qps-scaling.ts";
import type { RunPhase, RunStatus, StopReason, WorkerStatus } from "./run-state.ts";
import type { Scenario } from "./scenario.ts";

/** What the orchestrator keeps between its looks, besides the search for a maximum. */
export interface ControlState {
  readonly guardrails: GuardrailState;
  /** The share of the planned load that guardrails left. */
  readonly loadShare: number;
  readonly scaling: ScalingState | null;
  /** The last stage that was sent to workers. */
  readonly stage?: number;
}

export interface RunRecord {
  readonly runId: RunId;
  readonly testName: string;
  readonly templateId: string | null;
  readonly scenario: Scenario;
  readonly targetSecret: string | null;
  readonly status: RunStatus;
  readonly phase: RunPhase;
  readonly startTimeMs: number | null;
  readonly warmupStartTimeMs: number | null;
  readonly warmupEndTimeMs: number | null;
  readonly stopTimeMs: number | null;
  readonly endTimeMs: number | null;
  readonly expectedWorkers: number;
  readonly targets: Targets;
  readonly findMax: FindMaxProgress | null;
  readonly control: ControlState | null;
  readonly stopReason: StopReason | null;
  readonly cancellationReason: string | null;
  readonly createdAtMs: number;
}

export interface WorkerRecord {
  readonly workerId: LoadWorkerId;
  readonly groupId: number;
  readonly testId: string;
  readonly hostName: string;
  readonly processId: number;
  readonly status: WorkerStatus;
  readonly phase: RunPhase;
  readonly targetConnections: number;
  readonly activeConnections: number;
  readonly lastHeartbeatMs: number;
  readonly lastError: string | null;
}
