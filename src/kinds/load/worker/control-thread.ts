/**
 * The thread that talks to the store. SQLite answers on the thread that asks, and a commit waits for the disk: on the load's own thread each
 * heartbeat would be a pause in the load, and in what it measures.
 */
import { parentPort, workerData } from "node:worker_threads";
import { encodeError } from "../../../ground/kernel/error-codec.ts";
import { assert } from "../../../ground/kernel/errors.ts";
import { silentLogger } from "../../../ground/kernel/logger.ts";
import { realClock as clock } from "../../../ground/kernel/node/real-clock.ts";
import { createSystemPrng } from "../../../ground/kernel/node/system-random.ts";
import { openStore } from "../../../ground/store/index.ts";
import { readRunPools } from "../store/run-pools.ts";
import { StoreWorkerControl } from "../store/store-worker-control.ts";
import type {
  ControlAnswer,
  ControlCall,
  ControlThreadOptions,
  WorkerStore,
} from "./control-messages.ts";

const options = workerData as ControlThreadOptions;
const prng = createSystemPrng();
let opened: Promise<WorkerStore> | undefined;

assert(parentPort !== null, "this is a thread");
const port = parentPort;
port.on("message", (call: ControlCall) => {
  void answer(call).then((said) => port.postMessage(said));
});

async function answer({ id, method, args }: ControlCall): Promise<ControlAnswer> {
  try {
    opened ??= open();
    const store = await opened.catch((thrown: unknown) => {
      opened = undefined; // The next call tries again.
      throw thrown;
    });
    const perform = store[method] as (...given: readonly unknown[]) => Promise<unknown>;
    return { id, result: await perform.apply(store, [...args]) };
  } catch (thrown) {
    return { id, error: encodeError(thrown) };
  }
}

async function open(): Promise<WorkerStore> {
  const store = await openStore({ ...options.store, clock, logger: silentLogger, prng });
  const { leaseName } = options;
  return Object.assign(new StoreWorkerControl(store, { leaseName }), {
    readPools: (runId: string, templateId: string | null) =>
      store.read((tx) => readRunPools(tx, runId, templateId)),
  });
}
