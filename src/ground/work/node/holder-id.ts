import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Prng, randomText } from "../../kernel/prng.ts";

/**
 * This coordinator's name as the holder of the lease: stable over its restarts, and no other's, because its
 * directory is locked while it runs. So a restarted coordinator takes its own lease back without waiting.
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
