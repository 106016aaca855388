/**
 * The thread that talks to the store. SQLite answers on the thread that asks, and a commit waits for the disk: on the load's own thread each
 * heartbeat would be a pause in the load, and in what it measures.
 */
import { parentPort, workerData } from "node:worker_threads";
import { assert, messageOf, OperatingError } from "../../kernel/errors.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { realClock as clock } from "../../kernel/node/real-clock.ts";
import { createSystemPrng } from "../../kernel/node/system-random.ts";
import { openStore, type Store } from "../../store/index.ts";
import type { ParameterValue } from "../core/operation.ts";
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
    const known = thrown instanceof OperatingError ? thrown : undefined;
    return {
      id,
      code: known?.code,
      retry: known?.retry ?? "never",
      message: messageOf(thrown),
      hint: known?.hint,
    };
  }
}

async function open(): Promise<WorkerStore> {
  const store = await openStore({ ...options.store, clock, logger: silentLogger, prng });
  const { leaseName } = options;
  return Object.assign(new StoreWorkerControl(store, { leaseName }), {
    readPools: (templateId: string) => readPools(store, templateId),
  });
}

async function readPools(
  store: Store,
  templateId: string,
): Promise<ReadonlyMap<string, readonly ParameterValue[]>> {
  const rows = await store.read(({ db }) =>
    db
      .selectFrom("template_value_pools")
      .select(["pool", "pool_values"])
      .where("template_id", "=", templateId)
      .orderBy("pool")
      .orderBy("chunk")
      .execute(),
  );
  const pools = new Map<string, ParameterValue[]>();
  for (const { pool, pool_values } of rows) {
    const values = pools.get(pool) ?? [];
    for (const value of JSON.parse(pool_values) as readonly ParameterValue[]) values.push(value);
    pools.set(pool, values);
  }
  return pools;
}
