/** The port to where workers' processes run: SP1, SP2. */

import type { LogFields } from "../../../ground/kernel/logger.ts";
import type { LoadWorkerId, RunId } from "../core/ids.ts";
import type { Placement } from "../core/scenario.ts";

export interface WorkerPlace {
  readonly runId: RunId;
  readonly workerId: LoadWorkerId;
}

export interface SpawnRequest extends WorkerPlace {
  readonly groupId: number;
  readonly groupCount: number;
  /** AUTO unless given. */
  readonly placement?: Placement;
  /** Where live figures go, if the spawner does not know it. */
  readonly coordinatorUrl?: string;
}

/** From a heartbeat. */
export interface SeenProcess extends WorkerPlace {
  readonly hostName: string;
  readonly processId: number;
}

export interface WorkerSpawner {
  /** Rejects when the process cannot be started at all. */
  spawn(request: SpawnRequest): Promise<void>;
  /** Of one that was spawned here, or was seen. `undefined`: nothing is known here. */
  isAlive(place: WorkerPlace): boolean | undefined;
  see(process: SeenProcess): void;
  signal(place: WorkerPlace, signal: "SIGTERM" | "SIGKILL"): void;
  /** Nothing more is asked about this run. */
  forget(runId: RunId): void;
}

/** Processes of this machine. */
export interface OwnSpawner extends WorkerSpawner {
  /** Leaves the workers alone. */
  close(): void;
}

export function keyOf({ runId, workerId }: WorkerPlace): string {
  return `${runId}/${workerId}`;
}

export function fieldsOf({ runId, workerId }: WorkerPlace): LogFields {
  return { run_id: runId, worker_id: workerId };
}
