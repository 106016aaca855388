/**
 * The frames of a control session: one ordered, bidirectional stream for each pair of controller
 * and worker, dialled by the controller. Result data never travels on it.
 *
 *   controller                       worker
 *   hello            ─────────────▶
 *                    ◀─────────────  welcome (incarnation, whole inventory) | refused
 *   heartbeat        ─────────────▶
 *                    ◀─────────────  heartbeatAnswer (what changed since the last acknowledged)
 *   setDraining      ─────────────▶
 *                    ◀─────────────  admission
 *   channel          ◀────────────▶ channel (what the channels say to each other: see
 *                    `versions.ts`)
 *   goodbye          ─────────────▶  (then the stream ends)
 *
 * `proto/control.proto` is the same on the wire; `grpc/codec.ts` translates.
 */
import type {
  ControllerId,
  Incarnation,
  LeaseEpoch,
  SessionEpoch,
  WorkerId,
} from "../../kernel/ids.ts";
import type { ChannelOffer, Channels, Versions } from "./versions.ts";

export type ControllerRole = "coordinator" | "query_api";

/** Whether a worker takes new work. A worker with a session is alive. */
export interface Admission {
  readonly accepting: boolean;
  readonly draining: boolean;
}

/**
 * What is true on a worker, as a flat map, so that a change is a key and a value: statistics
 * (`cpu_ratio`, `queue_depth`, …) and, later, the states of what runs there (`fragment/ID`).
 */
export type Facts = Readonly<Record<string, string>>;

/** Changes of facts since the last delta that the controller acknowledged. Idempotent to apply. */
export interface FactsDelta {
  /** Grows with every change on the worker, within one incarnation. */
  readonly version: number;
  readonly set: Facts;
  readonly unset: readonly string[];
}

export type ControllerFrame =
  | {
      readonly kind: "hello";
      readonly controllerId: ControllerId;
      readonly role: ControllerRole;
      /**
       * Orders coordinators: a worker refuses one whose lease is older than the newest it has seen.
       * 0 for a query-api.
       */
      readonly leaseEpoch: LeaseEpoch;
      readonly versions: Versions;
      readonly channels: readonly ChannelOffer[];
      /**
       * The worker that the controller expects at this address; absent where it knows only
       * addresses. A worker of another name refuses before the hello affects its other sessions.
       */
      readonly workerId?: WorkerId;
    }
  | { readonly kind: "heartbeat"; readonly sequence: number; readonly ackedFactsVersion: number }
  | { readonly kind: "setDraining"; readonly draining: boolean }
  | { readonly kind: "goodbye"; readonly reason: GoodbyeReason }
  | ChannelFrame;

/** A frame of an agreed channel; only the channel knows its content. */
export interface ChannelFrame {
  readonly kind: "channel";
  readonly channel: string;
  readonly payload: Uint8Array;
}

/** `dropped`: the worker was removed from the cluster and should end itself. */
export type GoodbyeReason = "shutting_down" | "superseded" | "dropped";

export type RefusalReason =
  | "bad_frame"
  | "overloaded"
  | "protocol_version"
  | "shutting_down"
  | "stale_lease"
  | "stale_session"
  | "wrong_worker";

export type WorkerFrame =
  | {
      readonly kind: "welcome";
      readonly workerId: WorkerId;
      readonly incarnation: Incarnation;
      /** The version in use from now on. */
      readonly version: number;
      readonly channels: Channels;
      readonly admission: Admission;
      /** All facts, not a delta: the controller may know none of them. */
      readonly facts: Facts;
      readonly factsVersion: number;
      /** Where this worker serves artifacts, as `http://host:port`. */
      readonly dataUrl: string;
      readonly capacity: number;
      readonly softwareVersion: string;
    }
  | { readonly kind: "refused"; readonly reason: RefusalReason; readonly message: string }
  | {
      readonly kind: "heartbeatAnswer";
      readonly sequence: number;
      readonly delta: FactsDelta | undefined;
    }
  | { readonly kind: "admission"; readonly admission: Admission }
  | ChannelFrame;

/** A frame with the session it belongs to. Frames of an older epoch are ignored. */
export interface Envelope<Frame> {
  readonly epoch: SessionEpoch;
  readonly frame: Frame;
}
