/**
 * How the memory of a process is shared with its engine, and which process of the engine goes when
 * it is exceeded. QE4.
 */

const mebibyte = 1024 ** 2;
/** What Node, DuckDB's code and idle connections take of the engine's process. */
const engineBaseBytes = 64 * mebibyte;
/**
 * DuckDB counts its tables and operators; texts, lists and what the allocator keeps come on top.
 */
const countedByDuckDb = 0.6;
const duckdbBytesMin = 16 * mebibyte;
const rowBytesMin = 16 * mebibyte;

/** What DuckDB may take, by its own count, in a process of `engineBytes`. */
export function duckdbBytesOf(engineBytes: number): number {
  const counted = Math.floor((engineBytes - engineBaseBytes) * countedByDuckDb);
  return Math.max(duckdbBytesMin, counted);
}

/** With so many bytes a process of the engine stays, whatever the whole has: see `decideVictim`. */
export function engineKeepsBytes(engineBytes: number): number {
  return duckdbBytesOf(engineBytes) + engineBaseBytes;
}

/** A row of a result as text: it is read whole, by several at once, in the process that asked. */
export function rowBytesOf(engineBytes: number): number {
  return Math.max(rowBytesMin, Math.floor(engineBytes / 16));
}

export interface MemoryLimits {
  /** Of the process that owns the engine, and all that descend from it. */
  readonly treeBytesMax: number;
  /** Of one process of the engine. */
  readonly engineBytesMax: number;
}

export interface MemoryUse {
  readonly treeBytes: number;
  /** Of the process that all share; `undefined`: there is none. */
  readonly sharedBytes: number | undefined;
  /** Of the process in which one statement runs alone. */
  readonly aloneBytes: number | undefined;
  /** Of the largest process in which one ran alone and had its turn. */
  readonly overdueBytes?: number | undefined;
}

/**
 * Which process of the engine has to go, when all together take too much. A statement that runs
 * alone has its whole share, so that its end says something about it: the others give way, those that
 * had their turn first. A process that has no more than DuckDB may take stays: then the rest of the tree is too large.
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
 * What the kernel lets a process of the engine allocate: beyond its share, because what others do
 * not need it may have, and not all there is, because it allocates faster than anybody looks.
 */
export function kernelBytesOf({ treeBytesMax, engineBytesMax }: MemoryLimits): number {
  return Math.floor((engineBytesMax + Math.max(engineBytesMax, treeBytesMax)) / 2);
}
