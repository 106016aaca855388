/**
 * The thread that talks to the store. SQLite answers on the thread that asks, and a commit waits
 * for the disk: on the load's own thread each heartbeat would be a pause in the load, and in what
 * it measures.
 */

import "../core/error-codes.ts";
import { silentLogger } from "../../../ground/kernel/logger.ts";
import { realClock as clock } from "../../../ground/kernel/node/real-clock.ts";
import { createSystemPrng } from "../../../ground/kernel/node/system-random.ts";
import { openStore } from "../../../ground/store/index.ts";
import { servePeer } from "../../../ground/threads/index.ts";
import type { RunId } from "../core/ids.ts";
import { readRunPools } from "../store/run-pools.ts";
import { StoreWorkerControl } from "../store/store-worker-control.ts";
import type { ControlThread, ControlThreadOptions, WorkerStore } from "./thread-control.ts";

servePeer<ControlThread, ControlThreadOptions>((options) => {
  let opened: Promise<WorkerStore> | undefined;
  const store = (): Promise<WorkerStore> => {
    opened ??= open(options).catch((thrown: unknown) => {
      opened = undefined; // The next call tries again.
      throw thrown;
    });
    return opened;
  };
  return {
    requests: {
      register: async (args) => (await store()).register(...args),
      read: async (args) => (await store()).read(...args),
      events: async (args) => (await store()).events(...args),
      beat: async (args) => (await store()).beat(...args),
      writeSnapshot: async (args) => (await store()).writeSnapshot(...args),
      finish: async (args) => (await store()).finish(...args),
      log: async (args) => (await store()).log(...args),
      readPools: async (args) => (await store()).readPools(...args),
    },
    notes: {},
  };
});

async function open({ store: place, leaseName }: ControlThreadOptions): Promise<WorkerStore> {
  const prng = createSystemPrng();
  const store = await openStore({ ...place, clock, logger: silentLogger, prng });
  return Object.assign(new StoreWorkerControl(store, { leaseName }), {
    readPools: (runId: RunId, templateId: string | null) =>
      store.read((tx) => readRunPools(tx, runId, templateId)),
  });
}
