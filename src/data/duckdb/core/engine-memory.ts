/**
 * Divides a process's memory between it and its engine, and decides which engine process is killed
 * when memory is short (QE4).
 */
import { engineBaseBytes, engineKeepsBytes } from "../../../ground/process/core/index.ts";

const rowBytesMin = 16 * 1024 ** 2;

/** The maximum text of one row, which several readers hold whole in memory at once. */
export function rowBytesOf(engineBytes: number): number {
  return Math.max(rowBytesMin, Math.floor(engineBytes / 16));
}

export interface MemoryLimits {
  /** The limit of the engine's owner with all its descendants. */
  readonly treeBytesMax: number;
  /** The limit of one engine process. */
  readonly engineBytesMax: number;
}

export interface MemoryUse {
  readonly treeBytes: number;
  /** The size of the shared process; undefined when there is none. */
  readonly sharedBytes: number | undefined;
  /** The size of the process in which one statement runs alone. */
  readonly aloneBytes: number | undefined;
  /** The size of the largest process whose turn alone is over. */
  readonly overdueBytes?: number | undefined;
}

/**
 * Decides which engine process is killed when the tree is too large. A statement that runs alone
 * gets its whole share, so that its failure is its own fault: overdue ones and then the shared
 * process are killed first. A process within DuckDB's limit stays, because then the rest of the
 * tree is too large.
 */
export function decideVictim(
  { treeBytes, sharedBytes = 0, aloneBytes = 0, overdueBytes = 0 }: MemoryUse,
  { treeBytesMax, engineBytesMax }: MemoryLimits,
): "shared" | "alone" | "overdue" | undefined {
  if (treeBytes <= treeBytesMax) return undefined;
  if (overdueBytes > engineBaseBytes * 2) return "overdue";
  if (aloneBytes > 0 && sharedBytes > engineBaseBytes * 2) return "shared";
  const dueBytes = engineKeepsBytes(engineBytesMax);
  if (sharedBytes > dueBytes) return "shared";
  return aloneBytes > dueBytes ? "alone" : undefined;
}

/**
 * The kernel's limit for an engine process. It exceeds the share, to use what others leave free,
 * but not by everything, because allocations are faster than any measurement.
 */
export function kernelBytesOf({ treeBytesMax, engineBytesMax }: MemoryLimits): number {
  return Math.floor((engineBytesMax + Math.max(engineBytesMax, treeBytesMax)) / 2);
}
