/**
 * A bidirectional channel of frames: gRPC in production, the simulated network in `sim/`.
 *
 *   L1  Frames arrive in the order they were sent, each at most once, until the link closes.
 *   L2  `onClose` is called exactly once, after the last `onFrame`; nothing is called after it.
 *   L3  Neither is called synchronously from `send` or `close`.
 *   L4  A frame that was sent may be lost, but then so are all after it, and the link closes.
 */
import type { ControllerFrame, Envelope, WorkerFrame } from "./frames.ts";

export interface LinkHandlers<In> {
  onFrame(frame: In): void;
  onClose(reason: string): void;
}

export interface Link<Out> {
  /** Returns false when the link is closed, or closes because its bounded send buffer is full. */
  send(frame: Out): boolean;
  close(reason: string): void;
}

/** The controller's end of dialling. */
export interface Dialer {
  /**
   * Returns at once. A failed connection is an `onClose` without an `onFrame`. The handlers are
   * called for this dial only.
   */
  dial(
    address: WorkerAddress,
    handlers: LinkHandlers<Envelope<WorkerFrame>>,
  ): Link<Envelope<ControllerFrame>>;
}

export interface WorkerAddress {
  readonly host: string;
  readonly grpcPort: number;
}

/** The worker's end: called for every incoming session. */
export type AcceptLink = (
  link: Link<Envelope<WorkerFrame>>,
) => LinkHandlers<Envelope<ControllerFrame>>;
