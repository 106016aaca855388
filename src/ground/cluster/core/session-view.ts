/** An immutable snapshot of what a pool knows about one target. */
import type { Incarnation, SessionEpoch, WorkerId } from "../../kernel/ids.ts";
import type { Session } from "./controller-session.ts";
import type { Admission, Facts } from "./frames.ts";
import type { WorkerAddress } from "./link.ts";
import type { Channels } from "./versions.ts";

/** `waiting` for the next dial (backing off, or probing), `dialling`, `greeting`, or `live`. */
export type SessionState = Session["state"];

export interface LiveSession {
  readonly incarnation: Incarnation;
  readonly epoch: SessionEpoch;
  readonly admission: Admission;
  readonly facts: Facts;
  readonly dataUrl: string;
  readonly capacity: number;
  readonly softwareVersion: string;
  /** What both sides speak. */
  readonly channels: Channels;
  /** The round trip of the last answered heartbeat; undefined before the first. */
  readonly rttMs: number | undefined;
  /** By this process's monotonic clock. The welcome counts as an answer. */
  readonly lastAnswerMs: number;
  /** Consecutive missed heartbeats. */
  readonly misses: number;
}

export interface SessionView {
  readonly address: WorkerAddress;
  /** The expected worker, or else the one last seen there; undefined when neither is known. */
  readonly workerId: WorkerId | undefined;
  readonly state: SessionState;
  /** Only while `live`. */
  readonly live: LiveSession | undefined;
  /** Why the last session or dial ended, for people; undefined before that, and while live. */
  readonly downReason: string | undefined;
}

export function viewSession(
  address: WorkerAddress,
  workerId: WorkerId | undefined,
  session: Session,
  downReason: string | undefined,
): SessionView {
  return { address, workerId, state: session.state, live: viewLive(session), downReason };
}

function viewLive(session: Session): LiveSession | undefined {
  if (session.state !== "live") return undefined;
  const { epoch, admission, facts, rttMs, lastAnswerMs, misses, welcome } = session;
  const { incarnation, dataUrl, capacity, softwareVersion, channels } = welcome;
  const sent = { incarnation, dataUrl, capacity, softwareVersion, channels };
  return { ...sent, epoch, admission, facts, rttMs, lastAnswerMs, misses };
}
