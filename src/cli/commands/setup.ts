import { silentLogger } from "../../kernel/logger.ts";
import { realClock } from "../../kernel/node/real-clock.ts";
import { createSystemPrng } from "../../kernel/node/system-random.ts";
import { openDataDir } from "../../process/index.ts";
import { parseStoreUrl, setupStore } from "../../store/index.ts";
import { processTerminal } from "../output/terminal.ts";

export interface SetupOptions {
  readonly dataDir: string;
  readonly store?: string;
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
  const prng = createSystemPrng();
  return await setupStore({ ...location, clock: realClock, logger: silentLogger, prng });
}
