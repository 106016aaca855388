/** The control store of a cluster, read beside its processes. */

import { silentLogger } from "../../src/ground/kernel/logger.ts";
import { realClock } from "../../src/ground/kernel/node/real-clock.ts";
import { createPrng } from "../../src/ground/kernel/prng.ts";
import { openStore, parseStoreUrl, type Tx } from "../../src/ground/store/index.ts";
import { watchedRefreshTables } from "../../src/kinds/refresh/core/tables.ts";
import type { Cluster } from "./harness.ts";

/** `url`: of Postgres; SQLite in the data directory unless given. */
export async function readStore<T>(
  { dataDir }: Cluster,
  url: string | undefined,
  read: (tx: Tx) => Promise<T>,
): Promise<T> {
  const location = parseStoreUrl(url ?? `${dataDir}/store.sqlite`);
  const parts = { clock: realClock, logger: silentLogger, prng: createPrng("read-store") };
  const store = await openStore({ ...location, ...parts, watched: watchedRefreshTables });
  try {
    return await store.read(read);
  } finally {
    await store.close();
  }
}
