/**
 * How many refreshes that find nothing to do can be claimed and ended in a second: `claim` of one,
 * `publish` of NO_DATA, by several loops of one process at a time. Beside it, on the same Postgres,
 * queues for jobs do the same number of empty jobs with the same number of loops
 * (`claim-peers.ts`). They do less for each: a claim here is a fencing token, a lease, targets and
 * cursors; its end is the history, the versions that readers need, what is ready next, and a change
 * in the watched log.
 *
 * That Postgres is the tests': it does not wait for the disk (`fsync=off`), for anybody.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "../../src/ground/kernel/logger.ts";
import { realClock } from "../../src/ground/kernel/node/real-clock.ts";
import { createPrng } from "../../src/ground/kernel/prng.ts";
import { openStore, parseStoreUrl, setupStore } from "../../src/ground/store/index.ts";
import { startEmbeddedPostgres } from "../../src/ground/store/testing/embedded-postgres.ts";
import { watchedRefreshTables } from "../../src/kinds/refresh/core/tables.ts";
import { orders, TablesFixture } from "../../src/kinds/refresh/store/testing/tables-fixture.ts";
import type { BenchOptions, Report } from "../report.ts";
import { findPeers } from "./claim-peers.ts";

const tableCount = 250;
const rounds = 4;
const loops = 4;

export async function benchClaims(_: BenchOptions, report: Report): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "capstan-bench-"));
  const postgres = await startEmbeddedPostgres();
  try {
    report.value("claims_sqlite", "per s", await claimsPerSecond(join(dir, "control.db")));
    report.value(
      "claims_postgres",
      "per s",
      await claimsPerSecond(await postgres.createDatabase()),
    );
    const peers = findPeers();
    if (peers.length === 0) {
      report.say("no other queues: npm install graphile-worker pg-boss in $CAPSTAN_PEERS");
    }
    for (const { name, run } of peers) {
      const jobs = tableCount * rounds;
      const ms = await run({ url: await postgres.createDatabase(), jobs, loops });
      report.value(`claims_${name}`, "per s", (jobs / ms) * 1000);
    }
  } finally {
    await postgres.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function claimsPerSecond(url: string): Promise<number> {
  const parts = { clock: realClock, logger: silentLogger, prng: createPrng("bench") };
  const config = { ...parseStoreUrl(url), ...parts };
  await setupStore(config);
  const store = await openStore({ ...config, watched: watchedRefreshTables });
  try {
    const fixture = new TablesFixture(store);
    const ids = Array.from({ length: tableCount }, (_, index) => index + 100);
    await fixture.create(Object.fromEntries(ids.map((id) => [id, [orders]])));
    await fixture.schedule();
    await fixture.work(); // Their first contents.
    let spentMs = 0;
    for (let round = 0; round < rounds; round += 1) {
      await fixture.lake.write(orders);
      for (const id of ids) await fixture.request(id);
      await fixture.schedule();
      const startedMs = performance.now();
      await Promise.all(Array.from({ length: loops }, (_, loop) => drain(fixture, `w${loop}`)));
      spentMs += performance.now() - startedMs;
    }
    return ((tableCount * rounds) / spentMs) * 1000;
  } finally {
    await store.close();
  }
}

async function drain(fixture: TablesFixture, workerId: string): Promise<void> {
  for (;;) {
    const [claim] = await fixture.claim(workerId);
    if (claim === undefined) return;
    await fixture.claims.publish(claim, { action: "NO_DATA" });
  }
}
