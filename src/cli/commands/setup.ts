import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { decideLakePlaces, lakeIdFile, lostStoreHint } from "../../data/lake/index.ts";
import { processTerminal } from "../../ground/command/output/terminal.ts";
import { OperatingError } from "../../ground/kernel/errors.ts";
import { silentLogger } from "../../ground/kernel/logger.ts";
import { realClock } from "../../ground/kernel/node/real-clock.ts";
import { createSystemPrng } from "../../ground/kernel/node/system-random.ts";
import { openDataDir } from "../../ground/process/index.ts";
import { parseStoreUrl, setupStore } from "../../ground/store/index.ts";

export interface SetupOptions {
  readonly dataDir: string;
  readonly store?: string;
  /** Set by commands that also start a coordinator. */
  readonly lake?: string;
  readonly metricsDir?: string;
  readonly json?: boolean;
}

export async function runSetup(options: SetupOptions): Promise<void> {
  const { from, to } = await setUpStore(options);
  const terminal = processTerminal();
  if (options.json === true) terminal.out(`${JSON.stringify({ from, to })}\n`);
  else if (from === to) terminal.out(`The store is up to date: schema ${to}.\n`);
  else terminal.out(`The store is set up: schema ${to} (was ${from === 0 ? "absent" : from}).\n`);
}

export async function setUpStore(
  options: SetupOptions,
): Promise<{ readonly from: number; readonly to: number }> {
  const location = parseStoreUrl(options.store ?? openDataDir(options.dataDir).storePath);
  if (location.kind === "sqlite") refuseLostStore(location.path, options);
  const prng = createSystemPrng();
  return await setupStore({ ...location, clock: realClock, logger: silentLogger, prng });
}

/** Refuses to create a store beside the files of a lost one: its coordinator would refuse them. */
function refuseLostStore(storePath: string, options: SetupOptions): void {
  if (existsSync(storePath)) return;
  const { tables, metricsDir } = decideLakePlaces(options, join(options.dataDir, "lake"));
  const places = [metricsDir, ...(tables.kind === "directory" ? [tables.root] : [])];
  for (const place of places) {
    const names = [lakeIdFile, "main", "segments"].filter((name) => hasContent(join(place, name)));
    if (names.length === 0) continue;
    const message = `there is no store at ${storePath}, but ${place} has tables or metrics of one`;
    throw new OperatingError("data_dir_unusable", "never", message, { hint: lostStoreHint });
  }
}

function hasContent(path: string): boolean {
  try {
    return readdirSync(path).length > 0;
  } catch {
    return existsSync(path);
  }
}
