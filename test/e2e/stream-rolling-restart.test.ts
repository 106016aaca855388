/**
 * Every worker of a cluster is restarted by SIGTERM, one after the other, while a pipeline runs.
 * The lake's table has each result once, and no source has read a row twice, as the workers' own
 * counters say.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type Cluster, startCluster, stopEverything, waitFor } from "./harness.ts";
import { StreamPipeline } from "./stream-pipeline.ts";

const rounds = Number(process.env.CAPSTAN_TEST_KILLS ?? 1);
const workers = ["worker-1", "worker-2"];

after(stopEverything);

test("[SD52] a rolling restart of every worker reads no row twice", async (t) => {
  const cluster = await startCluster({ workers: workers.length });
  await cluster.waitForWorkers("ACTIVE", workers);
  const pipeline = new StreamPipeline(cluster, "kept");
  await pipeline.create();
  await pipeline.until("RUNNING");
  for (const name of Array.from({ length: rounds }, () => workers).flat()) {
    pipeline.grow();
    const pid = cluster.pid(name);
    cluster.kill(name, "SIGTERM");
    await waitFor(`another ${name}`, () => (cluster.pid(name) === pid ? undefined : true));
    await cluster.waitForWorkers("ACTIVE", workers);
    await pipeline.until("RUNNING");
    pipeline.grow();
  }
  const results = await pipeline.check();
  const ended = await waitFor("the last fragments to be told of", () => {
    const lines = endedFragments(cluster);
    const rows = lines.reduce((sum, { rows_read: read }) => sum + read, 0);
    return rows >= pipeline.rowCount ? lines : undefined;
  });
  const rows = ended.reduce((sum, { rows_read: read }) => sum + read, 0);
  assert.equal(rows, pipeline.rowCount, JSON.stringify(ended));
  const epochs = new Set(ended.map(({ epoch }) => epoch)).size;
  assert.ok(epochs > rounds * workers.length, `${epochs} deployments`);
  t.diagnostic(`${epochs} deployments, ${rows} rows read, ${results} results`);
  await cluster.stop();
});

interface Ended {
  readonly msg: string;
  readonly epoch: number;
  readonly fragment: string;
  readonly rows_read: number;
}

/** What each fragment has done in all, when it ended by itself or by a soft stop. */
function endedFragments(cluster: Cluster): readonly Ended[] {
  return workers
    .flatMap((name) => cluster.log(name).split("\n"))
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Ended)
    .filter(({ msg }) => msg === "a fragment has ended");
}
