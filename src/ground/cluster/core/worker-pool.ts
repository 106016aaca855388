/**
 * Control sessions as kinds of work see them, in a process that dials workers. `SessionPool`
 * implements it. Each process has its own view; replicas may differ for a while.
 */
import type { Incarnation, WorkerId } from "../../kernel/ids.ts";
import type { Admission, Facts } from "./frames.ts";
import type { Channels } from "./versions.ts";

export interface WorkerUp {
  readonly workerId: WorkerId;
  readonly incarnation: Incarnation;
  readonly admission: Admission;
  readonly channels: Channels;
}

/**
 * Called synchronously, in order: `workerUp` opens a session, `workerDown` ends it, all other calls
 * are between the two. `workerFacts` follows `workerUp` at once. Calls must return quickly.
 */
export interface WorkerListener {
  /** Limits the listener to workers with this channel, and to its frames. Absent: every worker. */
  readonly channel?: string;
  workerUp?(up: WorkerUp): void;
  workerAdmission?(workerId: WorkerId, admission: Admission): void;
  /** All facts of the worker, in the welcome and after every change; `version` grows with each. */
  workerFacts?(workerId: WorkerId, facts: Facts, version: number): void;
  /** The worker answered a heartbeat, so many milliseconds after it was sent. */
  workerHeartbeat?(workerId: WorkerId, rttMs: number): void;
  /** Throws `protocol_violation` for a malformed frame, which ends the session. */
  workerFrame?(workerId: WorkerId, payload: Uint8Array): void;
  workerDown?(workerId: WorkerId, reason: string): void;
}

export interface WorkerPool {
  /**
   * `workerUp` and `workerFacts` are replayed to a new listener for every live session. Returns the
   * unsubscriber.
   */
  listen(listener: WorkerListener): () => void;
  /**
   * Returns false when the worker does not support the channel, or has no live session; then
   * `workerDown` has been or is about to be called.
   */
  send(workerId: WorkerId, channel: string, payload: Uint8Array): boolean;
}
