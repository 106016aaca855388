/** Messages from a worker to its compute threads. */

import type { MemoryPlace } from "../../../ground/process/core/index.ts";
import type { ProducedFile } from "../../../ground/work/core/index.ts";
import type { ColumnFileNote } from "./disk-columns.ts";

export interface ComputeThreadOptions {
  readonly lakeDir: string;
  readonly clusterToken: string;
  readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string } | undefined;
  /** The decoded columns that this thread keeps in memory. */
  readonly cacheBytesMax: number;
  /** The thread's place in the memory budget of all works. */
  readonly memory: MemoryPlace;
  /** What one work holds at a time besides the caches, including its file. */
  readonly workBytesMax: number;
  /** Where decoded columns are kept on disk; undefined to keep none. */
  readonly columnsDir: string | undefined;
  /** The delay before the warm-up; undefined for no warm-up. */
  readonly warmUpDelayMs: number | undefined;
  /** One word: the number of requests in all threads of the process. */
  readonly pending: SharedArrayBuffer;
  /** One word: the number of the request that the thread computes; 0 when idle. */
  readonly current: SharedArrayBuffer;
}

export interface ComputeThread {
  readonly requests: { compute(request: ComputeRequest): ComputeAnswer };
  readonly notes: Record<never, never>;
}

/** Messages from a compute thread to its worker. */
export interface ComputeOwner {
  readonly requests: Record<never, never>;
  readonly notes: { columnFile: ColumnFileNote };
}

export interface ComputeRequest {
  readonly number: number;
  readonly queryId: string;
  readonly body: string;
  readonly bytesMax: number;
  /** Whether it only runs code: the thread's own warm-up goes on. */
  readonly isRehearsal: boolean;
}

export interface ComputeAnswer {
  readonly produced: ProducedFile;
  readonly usage: ComputeUsage;
}

/** Figures of this thread since its start. */
export interface ComputeUsage {
  readonly cacheBytes: number;
  readonly cacheHits: number;
  readonly cacheMisses: number;
  readonly headPulls: number;
  readonly headBytes: number;
  /** How long the last work waited for the head's slice. */
  readonly headMs: number;
}
