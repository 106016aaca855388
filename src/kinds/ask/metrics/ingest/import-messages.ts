/** What a process asks an import's thread. */
import type { ImportProgress, ImportResult } from "../core/ingest-service.ts";
import type { MetricMetadata, SegmentInfo } from "../core/model.ts";
import type { ExemplarMessage } from "./batch-message.ts";
import type { ImportRunOptions } from "./import/import-run.ts";

export type ImportThreadOptions = ImportRunOptions;

/** A request that fails leaves nothing of the import. */
export interface ImportThread {
  readonly requests: {
    /** Answered when it was read: the next may come. */
    chunk(bytes: Uint8Array): ImportProgress;
    /** The text is over. */
    finish(): DoneImport;
  };
  readonly notes: Record<never, never>;
}

/** Segments are whole and on disk. */
export interface DoneImport {
  readonly segments: readonly SegmentInfo[];
  readonly result: ImportResult;
  readonly metadata: readonly MetricMetadata[];
  readonly exemplars: readonly ExemplarMessage[];
}
