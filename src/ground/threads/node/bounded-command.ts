/**
 * A command whose process the kernel bounds (RLIMIT_DATA, set by a shell on the way), so that an enormous value is an error of
 * whoever asked for it at once, and not a process that grows. The limit is of address space: what Node reserves and does not use
 * is added. On Linux.
 */
import { readFileSync } from "node:fs";

const mebibyte = 1024 ** 2;
/** glibc reserves as much for a thread as the main one may have. */
const stackBytes = 8 * mebibyte;
/** Allocators' arenas, and whatever else is reserved and never touched. */
const reservedBytes = 96 * mebibyte;
/** Below this Node itself does not run well. */
const dataBytesMin = 128 * mebibyte;

export interface MemoryBound {
  /** Of the process, all in all. */
  readonly memoryBytesMax: number;
  readonly threadCount: number;
  /** What V8 reserves for threads that have JavaScript: half a gigabyte each, unless they say less (`codeRangeSizeMb`). */
  readonly scriptBytes?: number;
}

/** Whether the kernel of this platform bounds what a process allocates. */
export const canBoundMemory: boolean = process.platform === "linux";

export type CommandLine = readonly [program: string, ...args: string[]];

/** The shell becomes the program: the process has the same id, and shows the program's command line. */
export function boundedCommand(command: CommandLine, bound: MemoryBound): CommandLine {
  const kilobytes = Math.floor(dataBytesMax(bound) / 1024);
  return ["/bin/sh", "-c", `ulimit -d ${kilobytes}; exec "$0" "$@"`, ...command];
}

function dataBytesMax({ memoryBytesMax, threadCount, scriptBytes = 0 }: MemoryBound): number {
  const unused = codeRangeBytes() + scriptBytes + threadCount * stackBytes + reservedBytes;
  return Math.max(dataBytesMin, memoryBytesMax) + unused;
}

/** V8 reserves this for compiled code, writable, and uses little of it: as much in the child as here. */
function codeRangeBytes(): number {
  const maps = readFileSync("/proc/self/maps", "utf8");
  const sizes = Array.from(
    maps.matchAll(/^([0-9a-f]+)-([0-9a-f]+) rwxp /gm),
    ([, from = "", to = ""]) => Number.parseInt(to, 16) - Number.parseInt(from, 16),
  );
  return Math.max(0, ...sizes);
}
