/** What the machine or container has. Only this file asks: `tools/tidy.ts` checks it. */
import { availableParallelism, totalmem } from "node:os";

export interface Machine {
  readonly cores: number;
  /** The memory of the machine, or the limit of the container. */
  readonly totalBytes: number;
}

export function machine(): Machine {
  const limitBytes = process.constrainedMemory();
  const totalBytes = totalmem();
  return {
    cores: availableParallelism(),
    totalBytes: limitBytes > 0 ? Math.min(limitBytes, totalBytes) : totalBytes,
  };
}
