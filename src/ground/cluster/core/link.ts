/**
 * A bidirectional channel of frames: gRPC in production, the simulated network in `sim/`. Its
 * contract: LN1 to LN4.
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
