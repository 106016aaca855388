/** How much memory a process and its descendants may use, and for what. */
import type { Logger } from "../kernel/logger.ts";

const bytesMin = 256 * 1024 * 1024;

export interface MemoryShare {
  /** The memory of the machine or container. */
  readonly totalBytes: number;
  /** How many workers run on the machine. */
  readonly workers: number;
}

/**
 * Half of the memory is for all workers together and a tenth for the coordinator, which reads
 * results and computes nothing. The rest is for the operating system's cache and everything else.
 */
export function decideMemoryBytes(
  kind: "worker" | "coordinator",
  { totalBytes, workers }: MemoryShare,
): number {
  const share = kind === "coordinator" ? totalBytes / 10 : totalBytes / 2 / Math.max(1, workers);
  return Math.max(bytesMin, Math.floor(share));
}

/** What Node, a load generator and its figures need, whatever the target. */
const loadWorkerBytesMin = 512 * 1024 * 1024;

/**
 * The limit of each load worker of a run on one machine: half of the memory, divided among them.
 */
export function decideLoadWorkerBytes(totalBytes: number, workers: number): number {
  return Math.max(loadWorkerBytesMin, Math.floor(totalBytes / 2 / Math.max(1, workers)));
}

const mebibyte = 1024 ** 2;

/** Warns once, at the start, so that the first sign of a small limit is not a failed statement. */
export function warnOfSmallLimit(limitBytes: number, limitBytesMin: number, logger: Logger): void {
  if (limitBytes >= limitBytesMin) return;
  const [limit, least] = [limitBytes, limitBytesMin].map((bytes) => Math.round(bytes / mebibyte));
  logger.warn(
    { memory_limit_mib: limit, memory_limit_mib_min: least },
    `a memory limit of ${limit} MiB may be exceeded: with these settings it needs ${least} MiB`,
  );
}

const units: Readonly<Record<string, number>> = {
  "": 1,
  k: 1024,
  m: 1024 ** 2,
  g: 1024 ** 3,
  t: 1024 ** 4,
};

/** Parses `"512MB"`, `"2g"`, `"1.5GiB"`, `"1048576"`; undefined for any other text. */
export function parseBytes(text: string): number | undefined {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*$/i.exec(text);
  const unit = units[(match?.[2] ?? "").toLowerCase()];
  if (match?.[1] === undefined || unit === undefined) return undefined;
  return Math.floor(Number(match[1]) * unit);
}
