/**
 * A load worker's way to the store: what it is told, and what it tells. All times are the store's.
 * Every call may reject with `store_busy` or `store_unavailable`; the worker goes on without for as
 * long as its watchdog lets it. Rules: CT1 to CT3.
 */

import type { SequencedEvent } from "./control-events.ts";
import type { LoadWorkerId, RunId } from "./ids.ts";
import type { RunRecord } from "./run-record.ts";
import type { RunPhase, WorkerStatus } from "./run-state.ts";
import type { WorkerSnapshot } from "./worker-snapshot.ts";

export interface WorkerIdentity {
  readonly runId: RunId;
  readonly workerId: LoadWorkerId;
  readonly groupId: number;
  readonly groupCount: number;
  /** The test id of the worker's row; unique. */
  readonly testId: string;
  readonly incarnation: string;
  readonly hostName: string;
  readonly processId: number;
}

/** `targetSecret` is sealed; `targets` are the fallback for events that were missed. */
export interface RunView
  extends Pick<
    RunRecord,
    | ("runId" | "status" | "phase" | "scenario" | "targetSecret" | "targets")
    | ("startTimeMs" | "warmupStartTimeMs" | "warmupEndTimeMs" | "stopTimeMs")
  > {
  /** How long nobody has held the coordinator's lease; 0 while it is held. */
  readonly leaseLapsedMs: number;
  readonly nowMs: number;
}

export interface WorkerBeat {
  readonly status: WorkerStatus;
  readonly phase: RunPhase;
  readonly lastSequenceId: number;
  readonly targetConnections: number;
  readonly activeConnections: number;
  readonly lastError: string | null;
}

export interface LogLine {
  /** Unique, so that a line that is sent again is stored once. */
  readonly logId: string;
  readonly testId: string | null;
  readonly workerId: LoadWorkerId | null;
  readonly level: "INFO" | "WARNING" | "ERROR" | "CRITICAL";
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>> | null;
  readonly timestampMs: number;
}

export interface WorkerControl {
  /**
   * Creates the heartbeat's row (STARTING) and the worker's row of `test_results`. Undefined when
   * there is no such run.
   */
  register(worker: WorkerIdentity): Promise<RunView | undefined>;
  read(runId: RunId): Promise<RunView | undefined>;
  events(runId: RunId, afterSequence: number): Promise<readonly SequencedEvent[]>;
  beat(worker: WorkerIdentity, beat: WorkerBeat): Promise<"ok" | "superseded" | "gone">;
  /** Writes the snapshot's row, and the newest state of its series. */
  writeSnapshot(worker: WorkerIdentity, snapshot: WorkerSnapshot): Promise<"ok" | "superseded">;
  /** Writes the worker's final row, from its last snapshot. */
  finish(worker: WorkerIdentity, snapshot: WorkerSnapshot, status: WorkerStatus): Promise<void>;
  log(runId: RunId, lines: readonly LogLine[]): Promise<void>;
}
