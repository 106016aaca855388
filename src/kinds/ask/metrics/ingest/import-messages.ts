/** The requests of a process to its import thread. */
import type { ImportProgress, ImportResult } from "../core/ingest-service.ts";
import type { MetricMetadata, SegmentInfo } from "../core/model.ts";
import type { ExemplarMessage } from "./batch-message.ts";
import type { ImportRunOptions } from "./import/import-run.ts";

export type ImportThreadOptions = ImportRunOptions;

/** A request that fails discards the whole import. */
export interface ImportThread {
  readonly requests: {
    /** Resolves when the chunk was read and the next may be sent. */
    chunk(bytes: Uint8Array): ImportProgress;
    /** Ends the text. */
    finish(): DoneImport;
  };
  readonly notes: Record<never, never>;
}

/** The segments are whole and on disk. */
export interface DoneImport {
  readonly segments: readonly SegmentInfo[];
  readonly result: ImportResult;
  readonly metadata: readonly MetricMetadata[];
  readonly exemplars: readonly ExemplarMessage[];
}
