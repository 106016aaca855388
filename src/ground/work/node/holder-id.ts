import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Prng, randomText } from "../../kernel/prng.ts";

/**
 * This coordinator's name as the holder of the lease. It is stable over restarts, so that a
 * restarted coordinator takes its own lease back without waiting, and unique, because its directory
 * is locked.
 */
export function readHolderId(ownDir: string, name: string, prng: Prng): string {
  const file = join(ownDir, "holder");
  try {
    const found = readFileSync(file, "utf8").trim();
    if (found !== "") return found;
  } catch {
    // The first start here.
  }
  const holder = `${name}-${randomText(prng, 12)}`;
  writeFileSync(file, `${holder}\n`);
  return holder;
}
