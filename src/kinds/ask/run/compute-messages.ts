/** What a worker says to its compute threads. */
import type { ProducedFile } from "../../../ground/work/core/index.ts";
import type { ColumnFileNote } from "./disk-columns.ts";
import type { MemoryPlace } from "./memory-budget.ts";

export interface ComputeThreadOptions {
  readonly lakeDir: string;
  readonly clusterToken: string;
  readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string } | undefined;
  /** Decoded columns that this thread keeps in memory. */
  readonly cacheBytesMax: number;
  /** Of what the works of all threads hold. */
  readonly memory: MemoryPlace;
  /** What one work holds at a time besides the caches, its file included. */
  readonly workBytesMax: number;
  /** Where decoded columns are kept on disk; absent: nowhere. */
  readonly columnsDir: string | undefined;
  /** After how many milliseconds it warms up; absent: never. */
  readonly warmUpDelayMs: number | undefined;
  /** One word: how many requests all threads of the process have at the moment. */
  readonly pending: SharedArrayBuffer;
  /** One word: the number of the request that the thread computes at the moment; 0: none. */
  readonly current: SharedArrayBuffer;
}

export interface ComputeThread {
  readonly requests: { compute(request: ComputeRequest): ComputeAnswer };
  readonly notes: Record<never, never>;
}

/** What a compute thread says to its worker. */
export interface ComputeOwner {
  readonly requests: Record<never, never>;
  readonly notes: { columnFile: ColumnFileNote };
}

export interface ComputeRequest {
  readonly number: number;
  readonly queryId: string;
  readonly body: string;
  readonly bytesMax: number;
}

export interface ComputeAnswer {
  readonly produced: ProducedFile;
  readonly usage: ComputeUsage;
}

/** Of this thread, since it started. */
export interface ComputeUsage {
  readonly cacheBytes: number;
  readonly cacheHits: number;
  readonly cacheMisses: number;
  readonly headPulls: number;
  readonly headBytes: number;
  /** How long the last work waited for the head's slice. */
  readonly headMs: number;
}
