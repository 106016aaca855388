/** One direction from a fragment to another: frames in order, with room for a bounded number. */
export interface OutEdge {
  /** A promise means that there is no room for more until it resolves. */
  send(frame: Uint8Array<ArrayBuffer>): Promise<void> | undefined;
  /** Resolves when everything that was sent is on its way. */
  flush(): Promise<void>;
  /** The memory that it takes: what waits, and room that is kept for more. */
  readonly heldBytes: number;
  /** Bytes that were sent and not yet acknowledged. */
  readonly backlogBytes: number;
  /** What is not on its way yet is dropped. */
  close(): void;
}

export interface InEdge {
  /** Whether the sender is at another place. */
  readonly isRemote?: boolean;
  /** The next frame, valid until the next call; `undefined` when the other side is gone. */
  receive(): Promise<Uint8Array<ArrayBuffer> | undefined>;
  close(): void;
}
