/**
 * PromQL's share of a process's memory (QP34). DuckDB may keep its own share even while the total
 * exceeds the limit (`decideVictim`), so PromQL gets what is left.
 */
import { engineKeepsBytes } from "../../../../data/duckdb/core/index.ts";

const mebibyte = 1024 ** 2;
const gibibyte = 1024 ** 3;
const heapBytesMin = 128 * mebibyte;

export interface ProcessMemory {
  /** The limit of the process and all its descendants. */
  readonly limitBytes: number;
  /** The part of `limitBytes` for the engine's process. */
  readonly engineBytes: number;
  /** The part of `limitBytes` that the process itself and its caches always need. */
  readonly ownBytes: number;
}

/** The budget of all queries of a process: columns, artifacts being read, answers. */
export function promqlBytesOf({ limitBytes, engineBytes, ownBytes }: ProcessMemory): number {
  const leftBytes = limitBytes - ownBytes - engineKeepsBytes(engineBytes);
  return Math.floor(Math.max(leftBytes, limitBytes / 8));
}

export interface QueryMemoryLimits {
  /** The limit of all queries together. */
  readonly memoryBytesMax: number;
  readonly evalHeapBytesMax: number;
  readonly artifactBytesMax: number;
  readonly answerBytesMax: number;
  readonly waitingBytesMax: number;
}

/**
 * The limits where queries are evaluated. A thread's heap has texts and objects; columns are
 * outside of it.
 */
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
