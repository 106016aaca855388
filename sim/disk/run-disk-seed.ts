import type { DiskSuite } from "../plan.ts";
import type { RunResult } from "../run-plan.ts";
import type { DiskRunOptions } from "./disk-world.ts";
import { runLakeSeed } from "./lake-run.ts";
import { runLogSeed } from "./log-run.ts";

export function runDiskSeed(
  suite: DiskSuite,
  seed: number,
  options: DiskRunOptions = {},
): Promise<RunResult> {
  return suite === "log" ? runLogSeed(seed, options) : runLakeSeed(seed, options);
}
