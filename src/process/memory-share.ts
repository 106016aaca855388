/** How much memory DuckDB may take in one process, when nobody said. */
import { totalmem } from "node:os";

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

/** The memory that this process may reach for: what its container is allowed, or what the machine has. */
export function machine(workers: number = 1): MemoryShare {
  const limitBytes = process.constrainedMemory();
  const totalBytes = totalmem();
  return { totalBytes: limitBytes > 0 ? Math.min(limitBytes, totalBytes) : totalBytes, workers };
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
