/**
 * The control store, a real Postgres, is killed by SIGKILL under the coordinator while a pipeline
 * runs, once together with the coordinator, and comes back after a while: the table of the lake has
 * each result once.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createPrng } from "../../src/ground/kernel/prng.ts";
import {
  type RunningPostgres,
  startOwnPostgres,
} from "../../src/ground/store/testing/embedded-postgres.ts";
import { rowsOf, startCluster, stopEverything, waitFor } from "./harness.ts";
import { StreamPipeline } from "./stream-pipeline.ts";

const kills = Number(process.env.CAPSTAN_TEST_KILLS ?? 3);
const seed = process.env.CAPSTAN_TEST_SEED ?? "1";

let postgres: RunningPostgres;
before(async () => {
  postgres = await startOwnPostgres();
});
after(async () => {
  await stopEverything();
  await postgres.stop();
});

test("[SD53] a pipeline whose Postgres is killed again and again has each result once", async (t) => {
  const prng = createPrng(`${seed}/stream-kill-postgres`);
  const cluster = await startCluster({ workers: 2, store: await postgres.createDatabase() });
  await cluster.waitForWorkers("ACTIVE", ["worker-1", "worker-2"]);
  const pipeline = new StreamPipeline(cluster, "kept");
  await pipeline.create();
  await pipeline.until("RUNNING");
  const outages: number[] = [];
  for (let kill = 0; kill < kills; kill += 1) {
    pipeline.grow();
    if (kill % 2 === 0) await untilRows(cluster.url, kill);
    postgres.kill();
    // Its next start finds no store, and has to wait for one.
    if (kill % 3 === 2) cluster.kill("coordinator", "SIGKILL");
    // Shorter than the time of a lease, and longer.
    const outageMs = prng.below(kill % 2 === 0 ? 1_000 : 8_000);
    outages.push(outageMs);
    await new Promise((resolve) => setTimeout(resolve, outageMs));
    await postgres.start();
    pipeline.grow();
    await pipeline.until("RUNNING");
  }
  const results = await pipeline.check();
  assert.ok(results > 50, `${results} results`);
  t.diagnostic(`seed ${seed}: away for ${outages.join(", ")} ms; ${results} results`);
  await cluster.stop();
});

/** Checkpoints have been recorded, so that there is something to go on from. */
async function untilRows(url: string, count: number): Promise<void> {
  await waitFor("rows in the table", async () => {
    const rows = await rowsOf(url, "SELECT count(*) FROM kept").catch(() => undefined);
    return Number(rows?.[0]?.[0]) > count ? true : undefined;
  });
}
