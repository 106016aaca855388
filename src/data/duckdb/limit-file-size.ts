/**
 * Limits the size of the file that DuckDB writes, which DuckDB itself does not. In the engine's
 * process.
 */
import { statSync } from "node:fs";
import type { Clock } from "../../ground/kernel/clock.ts";

export interface FileSizeLimit {
  /** Whether the limit was exceeded and the statement interrupted. */
  exceeded(): boolean;
  stop(): void;
}

/** How often the growing file is measured. The caller measures it at the end. */
const measureMs = 50;

export function limitFileSize(
  path: string,
  bytesMax: number,
  clock: Clock,
  interrupt: () => void,
): FileSizeLimit {
  let exceeded = false;
  const measure = (): void => {
    const sizeBytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (sizeBytes > bytesMax) {
      exceeded = true;
      interrupt();
    }
    timer = clock.after(measureMs, measure);
  };
  let timer = clock.after(measureMs, measure);
  return { exceeded: () => exceeded, stop: () => timer.cancel() };
}
