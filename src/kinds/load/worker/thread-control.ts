/** A worker's store, on a thread of its own. Answers and errors are those of the store. */

import { OperatingError } from "../../../ground/kernel/errors.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { siblingModule } from "../../../ground/kernel/node/sibling-module.ts";
import type { parseStoreUrl } from "../../../ground/store/index.ts";
import { startThread } from "../../../ground/threads/index.ts";
import type { RunId } from "../core/ids.ts";
import type { ParameterValue } from "../core/operation.ts";
import type { WorkerControl } from "../core/worker-control.ts";

export interface ControlThreadOptions {
  readonly store: ReturnType<typeof parseStoreUrl>;
  /** The name of the coordinator's lease. */
  readonly leaseName: string;
}

/** The store, as a load worker uses it. */
export interface WorkerStore extends WorkerControl {
  readPools(
    runId: RunId,
    templateId: string | null,
  ): Promise<ReadonlyMap<string, readonly ParameterValue[]>>;
}

/** The thread takes the calls of a `WorkerStore`. */
export interface ControlThread {
  readonly requests: {
    readonly [Method in keyof WorkerStore]: (
      args: Parameters<WorkerStore[Method]>,
    ) => Awaited<ReturnType<WorkerStore[Method]>>;
  };
  readonly notes: Record<never, never>;
}

export interface ThreadControl extends WorkerStore {
  close(): Promise<void>;
}

export function startThreadControl(options: ControlThreadOptions): ThreadControl {
  const thread = startThread<ControlThread>({
    module: siblingModule(import.meta.url, "./control-thread"),
    options,
    clock: realClock,
    lost: ({ message }) => unavailable(`the store's thread failed: ${message}`),
    // Without this, V8 reserves 512 MB of address space (WP5).
    worker: { resourceLimits: { codeRangeSizeMb: 32 } },
  });
  return {
    register: (...args) => thread.ask("register", args),
    read: (...args) => thread.ask("read", args),
    events: (...args) => thread.ask("events", args),
    beat: (...args) => thread.ask("beat", args),
    writeSnapshot: (...args) => thread.ask("writeSnapshot", args),
    finish: (...args) => thread.ask("finish", args),
    log: (...args) => thread.ask("log", args),
    readPools: (...args) => thread.ask("readPools", args),
    close: () => thread.kill(unavailable("closed")),
  };
}

function unavailable(message: string): OperatingError {
  return new OperatingError("store_unavailable", "backoff", message);
}
