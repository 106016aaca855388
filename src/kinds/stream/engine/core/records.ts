/** What formats are: bytes to batches, and batches to bytes. Both are made for one schema. */
import type { Batch } from "./batch.ts";

/**
 * Cuts bytes into records and records into columns. Records may be split across chunks anywhere.
 * It emits a batch when one is full and when `flush` is called; the batch's buffers are used again
 * after the call that hands it over.
 */
export interface RecordParser {
  /** Takes bytes, which are valid during the call only. */
  push(chunk: Uint8Array): void;
  /** Emits the rows that are complete. */
  flush(): void;
  /** The input has ended: what is left over is a record, too, though no delimiter follows. */
  end(): void;
  /** How many bytes of those pushed belong to no complete record yet. */
  readonly pendingBytes: number;
}

export interface RecordParserContext {
  readonly emit: (batch: Batch) => void;
  readonly malformed: MalformedRecords;
}

export interface MalformedRecords {
  /**
   * A record that is left out under the policies `skip` and `dead_letter`; `offset` is that of its
   * first byte, counted from the first byte pushed. Fields that became NULL are only counted.
   */
  skipped(record: Uint8Array, offset: number, reason: string): void;
  nulled(count: number): void;
  /** For people: the place of a byte, counted from the first one pushed. */
  place?(offset: number): string;
}

/** Writes the selected rows of a batch. The bytes are valid until the next call. */
export interface RecordWriter {
  /** What stands before the first record, for example a line of names. */
  readonly header: Uint8Array;
  write(batch: Batch): Uint8Array;
}
