/** The port that starts and watches workers' processes. Rules: SP1 and SP2. */

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
  /** AUTO by default. */
  readonly placement?: Placement;
  /** The destination of live figures, if the spawner does not know it. */
  readonly coordinatorUrl?: string;
}

/** A process as its heartbeat describes it. */
export interface SeenProcess extends WorkerPlace {
  readonly hostName: string;
  readonly processId: number;
}

export interface WorkerSpawner {
  /** Rejects when the process cannot be started at all. */
  spawn(request: SpawnRequest): Promise<void>;
  /** For a process that was spawned here or seen. Undefined when it is unknown here. */
  isAlive(place: WorkerPlace): boolean | undefined;
  see(process: SeenProcess): void;
  signal(place: WorkerPlace, signal: "SIGTERM" | "SIGKILL"): void;
  /** Drops what is known of the run. */
  forget(runId: RunId): void;
}

/** A spawner of processes on this machine. */
export interface OwnSpawner extends WorkerSpawner {
  /** Does not stop the workers. */
  close(): void;
}

export function keyOf({ runId, workerId }: WorkerPlace): string {
  return `${runId}/${workerId}`;
}

export function fieldsOf({ runId, workerId }: WorkerPlace): LogFields {
  return { run_id: runId, worker_id: workerId };
}
