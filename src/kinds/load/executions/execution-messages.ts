/** What the load's thread and the one that writes executions say to each other. */

import type { LakeLocation } from "../../../data/lake/index.ts";
import type { ErrorData } from "../../../ground/kernel/error-codec.ts";
import type { parseStoreUrl } from "../../../ground/store/index.ts";
import type { ExecutionBatch } from "./execution-buffer.ts";
import type { ExecutionSource } from "./execution-rows.ts";

export interface ThreadOptions {
  readonly store: ReturnType<typeof parseStoreUrl>;
  readonly lake: LakeLocation;
  /** Nobody else's. */
  readonly stagingDir: string;
  readonly source: ExecutionSource;
}

export interface ToThread {
  readonly batch: ExecutionBatch;
  readonly first: number;
  readonly originMs: number;
}

export type FromThread =
  | { readonly first: number; readonly batch: ExecutionBatch }
  | { readonly first: number; readonly error: ErrorData };
