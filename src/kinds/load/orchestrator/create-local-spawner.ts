/** Load workers as processes of this machine, of the program that runs here. */
import { join } from "node:path";
import { decideLoadWorkerBytes, machine, packageInfo } from "../../../ground/process/index.ts";
import { LocalSpawner, type LocalSpawnerOptions } from "./local-spawner.ts";

export interface LocalSpawnerConfig
  extends Pick<
    LocalSpawnerOptions,
    "storeUrl" | "dataDir" | "allowedFiles" | "coordinatorUrl" | "clusterToken" | "clock" | "logger"
  > {
  /** As it was given. */
  readonly lake: string | undefined;
  /** Of each load worker, as it was given. */
  readonly loadMemoryLimit: number | undefined;
}

export function createLocalSpawner({
  lake,
  loadMemoryLimit,
  ...config
}: LocalSpawnerConfig): LocalSpawner {
  const { storeUrl, dataDir, allowedFiles, coordinatorUrl, clusterToken, clock, logger } = config;
  return new LocalSpawner({
    command: [process.execPath, join(packageInfo().root, "bin", "capstan.js")],
    storeUrl,
    dataDir,
    ...(allowedFiles === undefined ? {} : { allowedFiles }),
    ...(coordinatorUrl === undefined ? {} : { coordinatorUrl }),
    memoryBytesOf: (workers) =>
      loadMemoryLimit ?? decideLoadWorkerBytes(machine().totalBytes, workers),
    clusterToken,
    clock,
    logger,
    ...(lake === undefined ? {} : { env: { CAPSTAN_LAKE: lake } }),
  });
}
