/**
 * What PromQL may take of a process's memory. QP34.
 *
 * The engine may keep what DuckDB counts as its own even when the whole is above its limit
 * (`decideVictim`): PromQL has what is left then.
 */
import { engineKeepsBytes } from "../../../../data/duckdb/core/index.ts";

const mebibyte = 1024 ** 2;
const gibibyte = 1024 ** 3;
const heapBytesMin = 128 * mebibyte;

export interface ProcessMemory {
  /** Of the process and all that descend from it. */
  readonly limitBytes: number;
  /** Of that, the engine's process. */
  readonly engineBytes: number;
  /** Of that, for what else the process always needs: itself, and its caches. */
  readonly ownBytes: number;
}

/** What all queries of a process hold at once: columns, artifacts being read, answers. */
export function promqlBytesOf({ limitBytes, engineBytes, ownBytes }: ProcessMemory): number {
  const leftBytes = limitBytes - ownBytes - engineKeepsBytes(engineBytes);
  return Math.floor(Math.max(leftBytes, limitBytes / 8));
}

export interface QueryMemoryLimits {
  /** Of all queries together. */
  readonly memoryBytesMax: number;
  readonly evalHeapBytesMax: number;
  readonly artifactBytesMax: number;
  readonly answerBytesMax: number;
  readonly waitingBytesMax: number;
}

/** Where queries are evaluated. A thread's heap has texts and objects; columns are outside of it. */
export function queryMemoryOf(memory: ProcessMemory): QueryMemoryLimits {
  const memoryBytesMax = promqlBytesOf(memory);
  const half = Math.floor(memoryBytesMax / 2);
  const heapBytes = Math.max(heapBytesMin, Math.floor(memory.limitBytes / 4));
  return {
    memoryBytesMax,
    evalHeapBytesMax: Math.min(2 * gibibyte, heapBytes),
    artifactBytesMax: Math.min(gibibyte, memoryBytesMax),
    answerBytesMax: Math.min(512 * mebibyte, half),
    waitingBytesMax: Math.min(512 * mebibyte, half),
  };
}
