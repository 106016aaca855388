/** The ports of connectors: how bytes or rows come in, and how they go out. */
import type { Batch } from "../../engine/core/index.ts";

/** What a source gives at once: at most one read buffer. */
export type Reading =
  /** Bytes for the parser, valid until the next call. */
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  /** A file ended, and another one follows: the last record ends here, whatever its last byte. */
  | { readonly kind: "fileEnd" }
  /** The bytes broke off: a record that is not complete never will be. */
  | { readonly kind: "cut" }
  /** Rows, from a source that has no format of its own. */
  | { readonly kind: "rows"; readonly batch: Batch }
  /** Nothing for now. */
  | { readonly kind: "idle" }
  | { readonly kind: "end" };

export interface SourceReader {
  /** Bounded sources end by themselves, and their watermarks never wait for a clock. */
  readonly bounded: boolean;
  /** Whether the first bytes are not the beginning of a file, where names would stand. */
  readonly startsInside?: boolean;
  /** Waits for data, at most for a short while, and gives `idle` then. */
  read(): Promise<Reading>;
  /**
   * Where to go on when the last reading, which the caller has processed, counts but for its last
   * `pendingBytes`; `undefined` where the source cannot be replayed. What was read ahead and not
   * given to the caller yet does not count.
   */
  position(pendingBytes: number): string | undefined;
  /** For people: where the byte lies that is so many bytes before the end of the last reading. */
  place?(bytesBack: number): string;
  /** Ends a `read` that waits. */
  close(): Promise<void>;
}

export interface SinkWriter {
  /**
   * Takes rows; the batch is valid during the call only. A promise means that there is no room
   * for more until it resolves.
   */
  write(batch: Batch): Promise<void> | undefined;
  /**
   * Where to go on when everything written so far counts; `undefined` where that makes no
   * difference. What was written behind it is taken back when the sink is opened there again.
   */
  position(): string | undefined;
  /** The bytes it has written; absent for a sink that writes none. */
  readonly bytesWritten?: number;
  /** Resolves when everything written before the call is durable, as far as the sink can. */
  flush(): Promise<void>;
  /**
   * Of a sink whose rows count only when their checkpoint is complete; called instead of `flush`.
   * Resolves when everything written before the call is durable, with what the completion of the
   * checkpoint commits (`CheckpointRecord`); `undefined` where nothing was written.
   */
  prepare?(): Promise<string | undefined>;
  /** No row will come any more. */
  end(): Promise<void>;
  /** Gives everything back, whether the sink has ended or not. */
  close(): Promise<void>;
}
