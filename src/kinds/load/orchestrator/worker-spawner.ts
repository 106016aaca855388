/**
 * The port to where workers' processes run.
 *
 *   SP1  A worker outlives whoever started it. One that another process started is known again by what its heartbeat says.
 *   SP2  `undefined` is an answer: of a process on another machine nothing is known here, and its heartbeats decide.
 */
import type { Placement } from "../core/scenario.ts";

export interface WorkerPlace {
  readonly runId: string;
  readonly workerId: string;
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
  /** Of one that was spawned here, or was seen. */
  isAlive(place: WorkerPlace): boolean | undefined;
  see(process: SeenProcess): void;
  signal(place: WorkerPlace, signal: "SIGTERM" | "SIGKILL"): void;
  /** Nothing more is asked about this run. */
  forget(runId: string): void;
}
