/** Receives measurements of sessions. Calls must return quickly and not throw. */
import type { WorkerId } from "../../kernel/ids.ts";

/** Why a session, or an attempt at one, ended. Few values, so that they can label a metric. */
export type DisconnectCause =
  | "conflict"
  | "greeting_timeout"
  | "heartbeats_missed"
  | "link_lost"
  | "protocol_violation"
  | "refused"
  | "stopped";

export interface SessionObserver {
  /** The number of live sessions of this process, after every change. */
  streamsActive(count: number): void;
  heartbeatAnswered(workerId: WorkerId, rttMs: number): void;
  heartbeatMissed(workerId: WorkerId): void;
  /** `reconnectMs` is since the last session with this worker was lost; undefined for its first. */
  sessionUp(workerId: WorkerId, reconnectMs: number | undefined): void;
  sessionDown(workerId: WorkerId, cause: DisconnectCause): void;
  /** A dial did not lead to a session. */
  dialFailed(cause: DisconnectCause): void;
}
