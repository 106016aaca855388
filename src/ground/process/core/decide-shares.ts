/**
 * Decides how the CPU and the memory of a process are shared among what runs in it. It is the only
 * place that does: parts take their shares from the context (PR17, PR18).
 *
 * CPU: a pool has a thread for each core, so that work of one kind has every core while the others
 * are idle. While several pools are busy, the operating system gives each thread the same time. The
 * guaranteed part of a pool is therefore its part of all threads: a third, where a worker has three
 * pools of one size. Cores that were divided among the pools would stay idle with their pool.
 *
 * Memory: what the process always needs, its columns, what the engine may keep, and what work takes
 * add up to the limit. Queries and streams take theirs from one budget (`MemoryBudget`), so that
 * neither leaves memory idle that the other could use.
 */
import { assert } from "../../kernel/errors.ts";

const mebibyte = 1024 ** 2;
/** Memory for code, heaps, threads and connections, without decoded columns and DuckDB. */
const baseBytes = 192 * mebibyte;
/** DuckDB, in its own process, cannot work with less. */
const engineBytesMin = 192 * mebibyte;
/** Enough for a day of 5,000 series. More is decoded on disk, and in the system's cache. */
const columnBytesDefault = 160 * mebibyte;
/** The memory of Node, DuckDB's code and idle connections in the engine's process. */
export const engineBaseBytes: number = 64 * mebibyte;
/** The share that DuckDB counts: tables and operators, not texts, lists and allocator overhead. */
const countedByDuckDb = 0.6;
const duckdbBytesMin = 16 * mebibyte;

export interface CpuShares {
  /** The cores of the machine or container. */
  readonly cores: number;
  /** Statements and other work items that run at once. */
  readonly slots: number;
  readonly engineThreads: number;
  /** Threads that compute leaves in a worker, and evaluate queries in a coordinator. */
  readonly computeThreads: number;
  readonly streamThreads: number;
}

/**
 * How the memory of a process and its descendants is divided: `baseBytes`, `columnBytes`,
 * `engineKeptBytes` and `workBytes` add up to `limitBytes`.
 */
export interface MemoryShares {
  readonly limitBytes: number;
  /** The smallest limit that can be kept. */
  readonly limitBytesMin: number;
  readonly baseBytes: number;
  /** Memory for decoded columns. */
  readonly columnBytes: number;
  /** The limit of the engine's process, which may use what work leaves free. */
  readonly engineBytes: number;
  /** The part of `engineBytes` that the engine may keep whatever others need. */
  readonly engineKeptBytes: number;
  /** The budget of queries and streams together. */
  readonly workBytes: number;
  /** The part of `workBytes` that streams may reserve. */
  readonly streamBytes: number;
}

export interface Shares {
  readonly cpu: CpuShares;
  readonly memory: MemoryShares;
}

export interface WorkerShareOptions {
  readonly cores: number;
  readonly limitBytes: number;
  readonly slots?: number | undefined;
  /** The cores that this worker may count on, where several workers share a machine. */
  readonly computeThreads?: number | undefined;
  readonly columnBytes?: number | undefined;
}

export function decideWorkerShares(options: WorkerShareOptions): Shares {
  const { cores, limitBytes, slots = cores, computeThreads = cores } = options;
  const columnBytes = options.columnBytes ?? Math.min(columnBytesDefault, limitBytes / 4);
  return {
    cpu: { cores, slots, engineThreads: cores, computeThreads, streamThreads: computeThreads },
    memory: decideMemory(limitBytes, columnBytes),
  };
}

/** A coordinator reads results that workers computed, and evaluates; few threads suffice. */
export function decideControllerShares(options: {
  readonly cores: number;
  readonly limitBytes: number;
}): Shares {
  return {
    cpu: { cores: options.cores, slots: 4, engineThreads: 2, computeThreads: 2, streamThreads: 0 },
    memory: { ...decideMemory(options.limitBytes, 0), streamBytes: 0 },
  };
}

/** Work has at least an eighth of a limit, even of one that is too small for the other shares. */
export function decideMemory(limitBytes: number, columnBytes: number): MemoryShares {
  const ownBytes = baseBytes + columnBytes;
  const engineBytes = Math.max(engineBytesMin, limitBytes - ownBytes);
  const engineKeptBytes = engineKeepsBytes(engineBytes);
  const leftBytes = limitBytes - ownBytes - engineKeptBytes;
  const workBytes = Math.floor(Math.max(leftBytes, limitBytes / 8));
  const limitBytesMin = ownBytes + engineBytesMin;
  assert(leftBytes >= 0 || limitBytes < limitBytesMin, "the shares of memory fit into the limit");
  // A third of the budget is always left to queries.
  const streamBytes = Math.floor(Math.min(limitBytes / 4, (workBytes * 2) / 3));
  return {
    limitBytes,
    limitBytesMin,
    baseBytes,
    columnBytes,
    engineBytes,
    engineKeptBytes,
    workBytes,
    streamBytes,
  };
}

/** DuckDB's own limit in a process of `engineBytes`. */
export function duckdbBytesOf(engineBytes: number): number {
  const counted = Math.floor((engineBytes - engineBaseBytes) * countedByDuckDb);
  return Math.max(duckdbBytesMin, counted);
}

/** An engine process up to this size stays, unless it gives way to another: `decideVictim`. */
export function engineKeepsBytes(engineBytes: number): number {
  return duckdbBytesOf(engineBytes) + engineBaseBytes;
}
