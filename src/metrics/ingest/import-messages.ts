/** What a process and an import's thread say to each other. */
import type { ErrorData } from "../../kernel/error-codec.ts";
import type { ImportProgress, ImportResult } from "../core/ingest-service.ts";
import type { MetricMetadata, SegmentInfo } from "../core/model.ts";
import type { ExemplarMessage } from "./batch-message.ts";
import type { ImportRunOptions } from "./import/import-run.ts";

export type ImportThreadOptions = ImportRunOptions;

export type ToImportThread =
  | { readonly kind: "chunk"; readonly bytes: Uint8Array }
  /** The text is over. */
  | { readonly kind: "end" };

export type FromImportThread =
  /** A chunk was read: the next may come. */
  | { readonly kind: "progress"; readonly progress: ImportProgress }
  /** Segments are whole and on disk; the thread has ended. */
  | {
      readonly kind: "done";
      readonly segments: readonly SegmentInfo[];
      readonly result: ImportResult;
      readonly metadata: readonly MetricMetadata[];
      readonly exemplars: readonly ExemplarMessage[];
    }
  /** Nothing is left of it. */
  | { readonly kind: "failed"; readonly error: ErrorData };
