/**
 * A command whose memory the kernel limits (RLIMIT_DATA, set by a shell that then runs the
 * program), so that an enormous value fails at once instead of growing the process. The limit
 * counts address space, so what Node reserves without using it is added. Linux only.
 */
import { readFileSync } from "node:fs";

const mebibyte = 1024 ** 2;
/** glibc reserves as much for each thread as the main thread may have. */
const stackBytes = 8 * mebibyte;
/** Allocator arenas and other memory that is reserved and never touched. */
const reservedBytes = 96 * mebibyte;
/** Node itself does not run well with less. */
const dataBytesMin = 128 * mebibyte;

export interface MemoryBound {
  /** The limit of the whole process. */
  readonly memoryBytesMax: number;
  readonly threadCount: number;
  /**
   * What V8 reserves for threads with JavaScript: 512 MiB each, unless `codeRangeSizeMb` says less.
   */
  readonly scriptBytes?: number;
}

/** Whether this platform's kernel can limit a process's memory. */
export const canBoundMemory: boolean = process.platform === "linux";

export type CommandLine = readonly [program: string, ...args: string[]];

/** The program replaces the shell, so the process keeps its id. */
export function boundedCommand(command: CommandLine, bound: MemoryBound): CommandLine {
  const kilobytes = Math.floor(dataBytesMax(bound) / 1024);
  return ["/bin/sh", "-c", `ulimit -d ${kilobytes}; exec "$0" "$@"`, ...command];
}

function dataBytesMax({ memoryBytesMax, threadCount, scriptBytes = 0 }: MemoryBound): number {
  const unused = codeRangeBytes() + scriptBytes + threadCount * stackBytes + reservedBytes;
  return Math.max(dataBytesMin, memoryBytesMax) + unused;
}

/** V8 reserves this for compiled code, in the child as in this process, and uses little of it. */
function codeRangeBytes(): number {
  const maps = readFileSync("/proc/self/maps", "utf8");
  const sizes = Array.from(
    maps.matchAll(/^([0-9a-f]+)-([0-9a-f]+) rwxp /gm),
    ([, from = "", to = ""]) => Number.parseInt(to, 16) - Number.parseInt(from, 16),
  );
  return Math.max(0, ...sizes);
}
