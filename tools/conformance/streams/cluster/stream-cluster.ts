/**
 * A coordinator and two workers, as `capstan up` starts them, with the suite's data in the
 * directory that File sources and sinks see.
 */
import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Cluster, startCluster } from "../../../../test/e2e/harness.ts";

export const workerNames = ["worker-1", "worker-2"] as const;

export interface StreamCluster {
  readonly url: string;
  readonly streamDir: string;
  /** What the worker has logged so far, as JSON lines. */
  log(worker: string): string;
  stop(): Promise<void>;
}

export async function startStreamCluster(suiteDir: string): Promise<StreamCluster> {
  const cluster: Cluster = await startCluster({
    workers: workerNames.length,
    args: ["--stream-dialect", "nebulastream"],
  });
  const streamDir = join(cluster.dataDir, "streams");
  mkdirSync(streamDir, { recursive: true });
  cpSync(join(suiteDir, "testdata"), streamDir, { recursive: true });
  await cluster.waitForWorkers("ACTIVE", workerNames);
  return {
    url: cluster.url,
    streamDir,
    log: (worker) => `${older(cluster.dataDir, worker)}${cluster.log(worker)}`,
    stop: async () => {
      await cluster.stop();
    },
  };
}

/** A log that has grown is begun anew, and its older half kept beside it. */
function older(dataDir: string, worker: string): string {
  const path = join(dataDir, "logs", `${worker}.log.1`);
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}
