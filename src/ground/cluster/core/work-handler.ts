/**
 * What a worker does with the work frames of its sessions. `session` is an opaque key: reports go back to
 * `WorkerEndpoint.report` under the same key, and only that session's controller sees them.
 */
import type { WorkKey, WorkSpec } from "../../work/core/assignment/index.ts";

export interface WorkHandler {
  assign(session: string, work: WorkSpec, attempt: number): void;
  cancel(session: string, key: WorkKey, attempt: number): void;
  ackArtifact(session: string, key: WorkKey, attempt: number): void;
  /** The last call for this session: whatever it owned is to be cancelled now. */
  sessionLost(session: string): void;
}
