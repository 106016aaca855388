/** Sends a recorder's batches to the thread, and returns them once they are written. */
import type { LakeLocation } from "../../../data/lake/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { siblingModule } from "../../../ground/kernel/node/sibling-module.ts";
import type { parseStoreUrl } from "../../../ground/store/index.ts";
import { startThread } from "../../../ground/threads/index.ts";
import { buffersOf, type ExecutionBatch } from "./execution-buffer.ts";
import type { BatchPlace, ExecutionSink } from "./execution-recorder.ts";
import type { ExecutionSource } from "./execution-rows.ts";

export interface ExecutionThreadOptions {
  readonly store: ReturnType<typeof parseStoreUrl>;
  readonly lake: LakeLocation;
  /** A directory of this process alone. */
  readonly stagingDir: string;
  readonly source: ExecutionSource;
}

export interface ExecutionThread {
  readonly requests: {
    write(request: { readonly batch: ExecutionBatch; readonly at: BatchPlace }): ExecutionBatch;
  };
  readonly notes: Record<never, never>;
}

export function startThreadSink(options: ExecutionThreadOptions): ExecutionSink {
  const thread = startThread<ExecutionThread>({
    module: siblingModule(import.meta.url, "./execution-thread"),
    options,
    clock: realClock,
    lost: ({ message }) => unavailable(`the thread failed: ${message}`),
    keepsAlive: "asked",
    // Without this, V8 reserves 512 MB of address space (WP5).
    worker: { resourceLimits: { codeRangeSizeMb: 32 } },
  });
  return {
    write: (batch, at) => thread.ask("write", { batch, at }, { transfer: buffersOf(batch) }),
    close: () => thread.kill(unavailable("there was no time left")),
  };
}

function unavailable(message: string): OperatingError {
  return new OperatingError("store_unavailable", "backoff", message);
}
