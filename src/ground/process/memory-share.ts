/** How much memory a process and all that descend from it may take, and for what. */
import { totalmem } from "node:os";
import type { Logger } from "../kernel/logger.ts";

const bytesMin = 256 * 1024 * 1024;

export interface MemoryShare {
  /** What the machine, or the container, has. */
  readonly totalBytes: number;
  /** How many workers run on it. */
  readonly workers: number;
}

/**
 * Half of the memory for the workers together, a tenth for the coordinator (which reads results, and
 * computes nothing): the rest is for the operating system's cache, Node's heaps and everything else.
 */
export function decideMemoryBytes(
  kind: "worker" | "coordinator",
  { totalBytes, workers }: MemoryShare,
): number {
  const share = kind === "coordinator" ? totalBytes / 10 : totalBytes / 2 / Math.max(1, workers);
  return Math.max(bytesMin, Math.floor(share));
}

/** What Node, a generator and its figures need, whatever is under test. */
const loadWorkerBytesMin = 512 * 1024 * 1024;

/** Of each load worker of a run on one machine: half of the memory, shared. */
export function decideLoadWorkerBytes(totalBytes: number, workers: number): number {
  return Math.max(loadWorkerBytesMin, Math.floor(totalBytes / 2 / Math.max(1, workers)));
}

/** The memory that this process may reach for: what its container is allowed, or what the machine has. */
export function machine(workers: number = 1): MemoryShare {
  const limitBytes = process.constrainedMemory();
  const totalBytes = totalmem();
  return { totalBytes: limitBytes > 0 ? Math.min(limitBytes, totalBytes) : totalBytes, workers };
}

const mebibyte = 1024 ** 2;
/**
 * Code, heaps, threads, connections and what is under way: what is no cache of columns and not
 * DuckDB's.
 */
const ownBytes = 192 * mebibyte;
/** Less than this is no use to DuckDB, which runs in a process of its own. */
const engineBytesMin = 192 * mebibyte;

export interface MemoryPlan {
  /** Of the engine's process, DuckDB and all. */
  readonly engineBytes: number;
  /** Of this process itself, and its decoded columns. */
  readonly ownBytes: number;
  /** The least that the limit can be: below it, the limit does not hold. */
  readonly limitBytesMin: number;
}

/** `columnBytes`: for decoded columns. */
export function planMemory(limitBytes: number, columnBytes: number): MemoryPlan {
  return {
    engineBytes: Math.max(engineBytesMin, limitBytes - ownBytes - columnBytes),
    ownBytes: ownBytes + columnBytes,
    limitBytesMin: ownBytes + columnBytes + engineBytesMin,
  };
}

/**
 * Said once, at the start: whoever gave too little should not learn it from a statement's failure.
 */
export function warnOfSmallLimit(limitBytes: number, limitBytesMin: number, logger: Logger): void {
  if (limitBytes >= limitBytesMin) return;
  const [limit, least] = [limitBytes, limitBytesMin].map((bytes) => Math.round(bytes / mebibyte));
  logger.warn(
    { memory_limit_mib: limit, memory_limit_mib_min: least },
    `a memory limit of ${limit} MiB may be exceeded: with these settings it needs ${least} MiB`,
  );
}

const units: Readonly<Record<string, number>> = {
  "": 1,
  k: 1024,
  m: 1024 ** 2,
  g: 1024 ** 3,
  t: 1024 ** 4,
};

/** `"512MB"`, `"2g"`, `"1.5GiB"`, `"1048576"`; `undefined` where it is none of these. */
export function parseBytes(text: string): number | undefined {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*$/i.exec(text);
  const unit = units[(match?.[2] ?? "").toLowerCase()];
  if (match?.[1] === undefined || unit === undefined) return undefined;
  return Math.floor(Number(match[1]) * unit);
}
