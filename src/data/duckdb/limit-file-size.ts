/**
 * DuckDB bounds its memory and its spilling, but not what it writes: this does. In the engine's
 * process.
 */
import { statSync } from "node:fs";
import type { Clock } from "../../ground/kernel/clock.ts";

export interface FileSizeLimit {
  /** It was, and the statement was interrupted. */
  exceeded(): boolean;
  stop(): void;
}

/** How often the growing file is measured; what is over sooner is measured by whoever asked for it. */
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
