/**
 * Starts a process for the engine, or for another that is shut in like it. On Linux the kernel bounds what it may allocate
 * (ground/threads/node/bounded-command.ts). It inherits no environment but what finding files and telling time need.
 */
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { boundedCommand, type ProcessLink, startProcessLink } from "../../ground/threads/index.ts";

const mebibyte = 1024 ** 2;
const environmentKept = [
  "PATH",
  "HOME",
  "TMPDIR",
  "LANG",
  "LC_ALL",
  "TZ",
  "LD_LIBRARY_PATH",
  "NODE_COMPILE_CACHE",
];
const heapShare = 0.25;
const heapBytesMin = 128 * mebibyte;

export interface SpawnOptions {
  /** What runs in it. */
  readonly module: URL;
  /** Of the process, all in all. */
  readonly memoryBytesMax: number;
  readonly connections: number;
  readonly threads: number;
  /** Reserved by threads that have JavaScript. */
  readonly scriptBytes?: number;
  /** Whether the kernel is to bound its memory. */
  readonly bounded: boolean;
}

export function spawnEngine(options: SpawnOptions): ProcessLink {
  const heapBytes = Math.max(heapBytesMin, options.memoryBytesMax * heapShare);
  const node = [
    process.execPath,
    "--disable-warning=ExperimentalWarning",
    `--max-old-space-size=${Math.floor(heapBytes / mebibyte)}`,
    fileURLToPath(options.module),
  ] as const;
  const command = options.bounded ? boundedCommand(node, boundOf(options)) : node;
  return startProcessLink(command, environment(options));
}

function boundOf({ memoryBytesMax, connections, threads, scriptBytes = 0 }: SpawnOptions) {
  // Node's own: one for each core at most, and libuv's, of which the engine has one for each connection and four more.
  const threadCount = threads + connections + 4 + Math.min(4, availableParallelism()) + 4;
  return { memoryBytesMax, threadCount, scriptBytes };
}

/** DuckDB's asynchronous calls each occupy one of libuv's threads while a statement runs. */
function environment({ connections }: SpawnOptions): Record<string, string> {
  const kept = Object.entries(process.env).flatMap(([name, value]) => {
    const isKept = environmentKept.includes(name) || name.startsWith("MALLOC_");
    return value !== undefined && isKept ? [[name, value] as const] : [];
  });
  return { ...Object.fromEntries(kept), UV_THREADPOOL_SIZE: String(connections + 4) };
}
