/**
 * The face that sessions show to the kinds of work, in a process that dials workers. `SessionPool`
 * implements it. The view is private to the process: replicas may differ for a while.
 */
import type { Incarnation, WorkerId } from "../../kernel/ids.ts";
import type { Admission } from "./frames.ts";
import type { Channels } from "./versions.ts";

export interface WorkerUp {
  readonly workerId: WorkerId;
  readonly incarnation: Incarnation;
  readonly admission: Admission;
  readonly channels: Channels;
}

/**
 * Called on the session's thread, in the order things happened: `workerUp` opens a session,
 * `workerDown` ends it, everything else lies between the two. Must return quickly.
 */
export interface WorkerListener {
  /** Hears only of workers that speak this channel, and its frames. Absent: of every worker. */
  readonly channel?: string;
  workerUp?(up: WorkerUp): void;
  workerAdmission?(workerId: WorkerId, admission: Admission): void;
  /** Throws `protocol_violation` for what cannot be a frame of the channel: that ends the session. */
  workerFrame?(workerId: WorkerId, payload: Uint8Array): void;
  workerDown?(workerId: WorkerId, reason: string): void;
}

export interface WorkerPool {
  /** `workerUp` is replayed to a new listener for every live session. Returns how to unsubscribe. */
  listen(listener: WorkerListener): () => void;
  /**
   * `false`: the worker does not speak the channel, or there is no live session, and `workerDown` has
   * been or is about to be called.
   */
  send(workerId: WorkerId, channel: string, payload: Uint8Array): boolean;
}
