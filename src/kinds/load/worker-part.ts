/**
 * A Capstan worker's part of load tests: it starts the load workers that are requested on its
 * machine.
 */

import { hostname } from "node:os";
import type { StoreOfWorker, WorkerContext, WorkerPart } from "../../data/parts/index.ts";
import { stopStep } from "../../ground/process/index.ts";
import { isAbleTo, type WorkerNode } from "../../ground/work/index.ts";
import { LocalSpawner } from "./host/local-spawner.ts";
import { ProcessHost } from "./host/process-host.ts";
import { ProcessStore } from "./store/process-store.ts";

export interface LoadHostOptions {
  readonly allowTargetFile?: readonly string[];
  readonly loadMemoryLimit?: number;
  readonly lake?: string;
}

export function createLoadWorkerPart(
  context: WorkerContext & StoreOfWorker,
  options: LoadHostOptions,
): WorkerPart {
  const { health } = context;
  let host: ProcessHost | undefined;
  let unfollow: () => void = () => undefined;
  return {
    name: "load",
    start(node) {
      const tell = (): void => {
        if (isAbleTo("load", health, node)) node.endpoint.setFact("starts_load", "yes");
        else node.endpoint.unsetFact("starts_load");
      };
      unfollow = health.onChange(tell);
      tell();
      host = createHost(context, options, node);
      host.start();
    },
    quiesce: [
      stopStep("stop load processes", 2_000, async () => {
        unfollow();
        await host?.stop();
      }),
    ],
  };
}

function createHost(
  context: WorkerContext & StoreOfWorker,
  options: LoadHostOptions,
  node: WorkerNode,
): ProcessHost {
  const { workerId, store, health, clock, logger } = context;
  return new ProcessHost({
    name: workerId,
    hostName: hostname(),
    processes: new ProcessStore(store),
    isAble: () => isAbleTo("load", health, node),
    spawner: new LocalSpawner({
      storeUrl: context.storeUrl,
      dataDir: context.dataDir.path,
      allowedFiles: options.allowTargetFile,
      loadMemoryLimit: options.loadMemoryLimit,
      lake: options.lake,
      clusterToken: context.clusterToken,
      clock,
      logger,
    }),
    clock,
    prng: context.prng.fork("load"),
    logger,
  });
}
