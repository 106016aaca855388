/**
 * A worker process for tests: `node claim-child.ts URL WORKER`. It prints `ready`, waits for a
 * line, then claims and publishes until nothing is left, printing `table token` for each, and
 * `done`.
 */

import { once } from "node:events";
import { silentLogger } from "../../../../ground/kernel/logger.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { createSystemPrng } from "../../../../ground/kernel/node/system-random.ts";
import { openStore, parseStoreUrl } from "../../../../ground/store/index.ts";
import { watchedRefreshTables } from "../../core/tables.ts";
import { TablesFixture } from "./tables-fixture.ts";

const [url = "", workerId = ""] = process.argv.slice(2);
const prng = createSystemPrng();
const store = await openStore({
  ...parseStoreUrl(url),
  clock: realClock,
  prng,
  logger: silentLogger,
  watched: watchedRefreshTables,
});
const fixture = new TablesFixture(store);
process.stdout.write("ready\n");
await once(process.stdin, "data");
for (;;) {
  const [claim] = await fixture.claim(workerId);
  if (claim === undefined) break;
  await fixture.publish(claim);
  process.stdout.write(`${claim.tableId} ${claim.token}\n`);
}
process.stdout.write("done\n");
await store.close();
process.stdin.destroy();
