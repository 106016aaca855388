/** What is measured: a set of processes that holds samples and answers Prometheus's API. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

export interface System {
  readonly name: string;
  /** Where its samples are on disk. */
  readonly samplesDir: string;
  /** While it runs. */
  url(): string;
  pids(): readonly number[];
  /** Resolves when it answers; nothing if it runs already. */
  start(): Promise<void>;
  stop(): Promise<void>;
  import(file: string): Promise<void>;
}

export function diskBytes(dir: string): number {
  let bytes = 0;
  for (const entry of readdirSync(dir, { withFileTypes: true, recursive: true })) {
    if (entry.isFile()) bytes += statSync(join(entry.parentPath, entry.name)).size;
  }
  return bytes;
}

/** Now, and the most there ever was. Zero where the system does not say. */
export function residentBytes(pid: number): { nowBytes: number; peakBytes: number } {
  const kilobytes = (field: string): number => {
    try {
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? 0);
    } catch {
      return 0;
    }
  };
  return { nowBytes: kilobytes("VmRSS") * 1024, peakBytes: kilobytes("VmHWM") * 1024 };
}
