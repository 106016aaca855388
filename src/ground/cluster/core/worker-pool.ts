/**
 * The face that sessions show to the managers of each kind of work, in a process that dials workers.
 * `SessionPool` implements it. The view is private to the process: replicas may differ for a while.
 */
import type { Incarnation, WorkerId } from "../../kernel/ids.ts";
import type { WorkCommand, WorkReport } from "../../work/core/assignment/index.ts";
import type { Admission, Facts } from "./frames.ts";

export interface WorkerUp {
  readonly workerId: WorkerId;
  readonly incarnation: Incarnation;
  readonly admission: Admission;
  readonly dataUrl: string;
  readonly capacity: number;
}

/**
 * Called on the session's thread, in the order things happened: `workerUp` opens a session,
 * `workerDown` ends it, everything else lies between the two. Must return quickly.
 */
export interface WorkerListener {
  workerUp(up: WorkerUp): void;
  workerAdmission(workerId: WorkerId, admission: Admission): void;
  workerReport(workerId: WorkerId, report: WorkReport): void;
  /** The whole map after every change. */
  workerFacts(workerId: WorkerId, facts: Facts): void;
  workerDown(workerId: WorkerId, reason: string): void;
}

export interface WorkerPool {
  /** `workerUp` is replayed to a new listener for every live session. Returns how to unsubscribe. */
  listen(listener: WorkerListener): () => void;
  /** `false`: there is no live session, and `workerDown` has been or is about to be called. */
  send(workerId: WorkerId, command: WorkCommand): boolean;
}
