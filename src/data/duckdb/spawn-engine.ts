/**
 * Starts a process for the engine, or another with the same restrictions. On Linux the kernel
 * bounds its memory (ground/threads/node/bounded-command.ts). Of the environment it inherits only
 * what finding files, language and time need.
 */
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
  /** The module that runs in it. */
  readonly module: URL;
  /** The memory of the whole process. */
  readonly memoryBytesMax: number;
  readonly connections: number;
  readonly threads: number;
  /** Memory reserved by threads that run JavaScript. */
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
  // Node's own threads, at most eight, and libuv's: one per connection and four more.
  const threadCount = threads + connections + 4 + 8;
  return { memoryBytesMax, threadCount, scriptBytes };
}

/** Each running statement occupies one of libuv's threads. */
function environment({ connections }: SpawnOptions): Record<string, string> {
  const kept = Object.entries(process.env).flatMap(([name, value]) => {
    const isKept = environmentKept.includes(name) || name.startsWith("MALLOC_");
    return value !== undefined && isKept ? [[name, value] as const] : [];
  });
  return { ...Object.fromEntries(kept), UV_THREADPOOL_SIZE: String(connections + 4) };
}
