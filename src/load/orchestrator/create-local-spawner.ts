/** Load workers as processes of this machine, of the program that runs here. */
import { join } from "node:path";
import { packageInfo } from "../../process/index.ts";
import { LocalSpawner, type LocalSpawnerOptions } from "./local-spawner.ts";

export interface LocalSpawnerConfig
  extends Pick<
    LocalSpawnerOptions,
    "storeUrl" | "dataDir" | "coordinatorUrl" | "clusterToken" | "clock" | "logger"
  > {
  /** As it was given. */
  readonly lake: string | undefined;
}

export function createLocalSpawner({ lake, ...config }: LocalSpawnerConfig): LocalSpawner {
  const { storeUrl, dataDir, coordinatorUrl, clusterToken, clock, logger } = config;
  return new LocalSpawner({
    command: [process.execPath, join(packageInfo().root, "bin", "capstan.js")],
    storeUrl,
    dataDir,
    ...(coordinatorUrl === undefined ? {} : { coordinatorUrl }),
    clusterToken,
    clock,
    logger,
    ...(lake === undefined ? {} : { env: { CAPSTAN_LAKE: lake } }),
  });
}
