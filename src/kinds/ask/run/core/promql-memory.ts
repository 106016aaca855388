/** The limits of queries where they are evaluated (QP34), within the process's `workBytes`. */
import type { MemoryShares } from "../../../../ground/process/core/index.ts";

const mebibyte = 1024 ** 2;
const gibibyte = 1024 ** 3;
const heapBytesMin = 128 * mebibyte;

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
export function queryMemoryOf(
  memory: Pick<MemoryShares, "limitBytes" | "workBytes">,
): QueryMemoryLimits {
  const memoryBytesMax = memory.workBytes;
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
