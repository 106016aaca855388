/**
 * A search for the maximum on real processes, in real time, against a server of known capacity. It
 * takes a minute and a machine that has cores to spare (elsewhere the search finds, rightly, what
 * the machine can do), so it runs when it is asked for:
 *
 *   CAPSTAN_TEST_SEARCH=1 node --test test/e2e/load-find-max.test.ts
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Cluster, startCluster, stopEverything } from "./harness.ts";
import { LoadRuns } from "./load-runs.ts";
import { QueueServer } from "./queue-server.ts";

const servers = 20;
let server: QueueServer;
let cluster: Cluster;

const skip =
  process.env.CAPSTAN_TEST_SEARCH === undefined ? "CAPSTAN_TEST_SEARCH=1 runs it" : false;

before(async () => {
  if (skip !== false) return;
  server = await QueueServer.start({ servers, serviceMs: 150 });
  cluster = await startCluster({ workers: 1 });
});
after(async () => {
  if (skip !== false) return;
  await cluster.stop();
  await stopEverything();
  await server.stop();
});

test("[FM6] a real search finds what a server can use, within a tenth", { skip }, async (t) => {
  const runs = new LoadRuns(cluster, server.url);
  const id = await runs.start([
    "load_mode=FIND_MAX_CONCURRENCY",
    "workers=1",
    "warmup=1",
    "start_concurrency=10",
    "concurrency_increment=8",
    "max_concurrency=60",
    "step_duration_seconds=4",
    "latency_stability_pct=100", // What counts is throughput: delays of a test machine are not the server's.
  ]);
  const { status } = await runs.untilEnded(id, 200_000);
  assert.equal(status, "COMPLETED");
  const steps = runs
    .read("SELECT * FROM find_max_step_history WHERE run_id = ? ORDER BY step_number", id)
    .map(
      (step) => `${step.total_target_connections} ${step.outcome} ${Number(step.qps).toFixed(0)}/s`,
    );
  const [row] = runs.read(
    "SELECT find_max_result AS result FROM test_results WHERE test_id = ?",
    id,
  );
  const { max_concurrency: found } = JSON.parse(`${row?.result}`) as { max_concurrency: number };
  t.diagnostic(`${found} of ${servers}: ${steps.join(", ")}`);
  assert.ok(Math.abs(found - servers) <= servers * 0.1, `${found}: ${steps.join(", ")}`);
});
