/**
 * Load workers and the coordinator are killed in the middle of runs. Longer, and at random moments:
 * `CAPSTAN_TEST_KILLS=40 CAPSTAN_TEST_SEED=7 node --test test/e2e/load-kill.test.ts`, which also
 * waits for what ends workers that nobody controls.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createPrng, type Prng } from "../../src/ground/kernel/prng.ts";
import { type Cluster, isAlive, startCluster, stopEverything, waitFor } from "./harness.ts";
import { LoadRuns } from "./load-runs.ts";
import { QueueServer } from "./queue-server.ts";

const kills = Number(process.env.CAPSTAN_TEST_KILLS ?? 0);
const seed = process.env.CAPSTAN_TEST_SEED ?? "1";
const connections = 6;

let server: QueueServer;
let cluster: Cluster;
let runs: LoadRuns;

before(async () => {
  server = await QueueServer.start({ servers: 100, serviceMs: 20 });
  cluster = await startCluster({ workers: 1 });
  runs = new LoadRuns(cluster, server.url);
});
after(async () => {
  await cluster.stop();
  await stopEverything();
  await server.stop();
});

const settingsOf = (workers: number, duration: number, warmup = 1): readonly string[] => [
  `workers=${workers}`,
  `connections=${connections}`,
  `duration=${duration}`,
  `warmup=${warmup}`,
];

function pidOf(id: string, workerId: string): number {
  const row = runs.workers(id).find(({ worker_id: name }) => name === workerId);
  return Number(row?.process_id ?? 0);
}

/** The sum of what workers are told, and what they have open. */
function targetsOf(id: string): { readonly names: readonly string[]; readonly sum: number } {
  const targets = JSON.parse(`${runs.row(id).worker_targets}`) as Record<
    string,
    { target_connections: number }
  >;
  const sum = Object.values(targets).reduce((all, each) => all + each.target_connections, 0);
  return { names: Object.keys(targets), sum };
}

test("[WK1] a worker that is killed: the run goes on with its share elsewhere, until too few are left", async () => {
  const id = await runs.start(settingsOf(3, 120));
  await runs.untilMeasured(id, 3);
  const said = runs.measured(id, "worker-1");
  process.kill(pidOf(id, "worker-1"), "SIGKILL");
  const dead = await waitFor("worker-1 to be given up", () =>
    runs.workers(id).find((each) => each.worker_id === "worker-1" && each.status === "DEAD"),
  );
  assert.equal(dead.last_error, "its process ended");
  await waitFor(
    "its share to be the others'",
    () => {
      const { names, sum } = targetsOf(id);
      const active = runs.workers(id).map((each) => Number(each.active_connections));
      const isShared = names.join() === "worker-0,worker-2" && sum === connections;
      return isShared && active.reduce((all, each) => all + each, 0) === connections
        ? true
        : undefined;
    },
    undefined,
    () => JSON.stringify(runs.workers(id)),
  );
  const { status, warnings } = await runs.update(id);
  assert.deepEqual([status, warnings], ["RUNNING", ["1/3 workers unresponsive"]]);
  process.kill(pidOf(id, "worker-2"), "SIGKILL");
  const { status: last, cancellation_reason: reason } = await runs.untilEnded(id);
  assert.deepEqual([last, reason], ["FAILED", "Worker failure: 2 worker(s) stopped responding"]);
  await runs.checkEnded(id);
  assert.ok(runs.measured(id, "worker-1") >= said, "what the dead one said counts");
  assert.deepEqual(
    runs
      .read(
        "SELECT status FROM test_results WHERE run_id = ? AND worker_id IS NOT NULL ORDER BY worker_id",
        id,
      )
      .map((each) => each.status),
    ["COMPLETED", "DEAD", "DEAD"],
  );
});

/** A run of two workers in MEASUREMENT that has most of its time before it, on any machine. */
async function startEarly(): Promise<string> {
  for (const seconds of [14, 60, 240]) {
    const id = await runs.start(settingsOf(2, seconds, 0));
    await runs.untilMeasured(id, 2);
    const passedMs = Date.now() - Number(runs.row(id).warmup_end_time_ms);
    if (passedMs < seconds * 500) return id;
    await runs.post(`/api/runs/${id}/stop`);
    await runs.untilEnded(id);
  }
  assert.fail("figures take longer than half of any run");
}

test("[WK2] a coordinator that is killed: its workers go on, and its successor goes on with the run", async () => {
  const id = await startEarly();
  const before = { workers: runs.workers(id), begun: server.begun, row: runs.row(id) };
  const killed = cluster.pid("coordinator");
  process.kill(killed, "SIGKILL");
  await waitFor("load without a coordinator", () =>
    server.begun > before.begun + 100 ? true : undefined,
  );
  const { status } = await runs.untilEnded(id, 300_000);
  assert.notEqual(cluster.pid("coordinator"), killed);
  assert.equal(status, "COMPLETED");
  await runs.checkEnded(id);
  const same = ["worker_id", "incarnation", "process_id", "started_at_ms"];
  const processes = (rows: typeof before.workers): unknown =>
    rows.map((row) => same.map((column) => row[column]));
  assert.deepEqual(processes(runs.workers(id)), processes(before.workers), "the same processes");
  assert.equal(runs.row(id).warmup_end_time_ms, before.row.warmup_end_time_ms);
  assert.ok(runs.workers(id).every((each) => each.status === "COMPLETED"));
  assert.equal(await runs.recorded(id), runs.measured(id), "every operation has its record");
});

test("[WK5] [PH4] load workers that Capstan's worker started outlive it, and are its successor's to see to", async () => {
  const id = await runs.start([...settingsOf(3, 120), "placement=WORKERS"]);
  const processes = (): readonly string[] =>
    runs
      .read("SELECT * FROM load_processes WHERE run_id = ? ORDER BY worker_id", id)
      .map(({ worker_id: name, started_by: starter, state }) => `${name} ${starter} ${state}`);
  await runs.untilMeasured(id, 3);
  const started = [0, 1, 2].map((group) => `worker-${group} worker-1 STARTED`);
  assert.deepEqual(processes(), started);
  const starter = cluster.pid("worker-1");
  process.kill(starter, "SIGKILL");
  await waitFor("another worker-1", () => (cluster.pid("worker-1") === starter ? undefined : true));
  await cluster.waitForWorkers("ACTIVE", ["worker-1"]);
  assert.ok([0, 1, 2].every((group) => isAlive(pidOf(id, `worker-${group}`))));
  process.kill(pidOf(id, "worker-2"), "SIGKILL");
  await waitFor(
    "its end to be told",
    () => (processes().includes("worker-2 worker-1 ENDED") ? true : undefined),
    undefined,
    () => processes().join(),
  );
  const dead = await waitFor("worker-2 to be given up", () =>
    runs
      .workers(id)
      .find(({ worker_id: name, status }) => name === "worker-2" && status === "DEAD"),
  );
  assert.equal(dead.last_error, "its process ended");
  await runs.post(`/api/runs/${id}/stop`);
  assert.equal((await runs.untilEnded(id)).status, "CANCELLED");
  await runs.checkEnded(id);
  await waitFor("the others' ends to be told", () =>
    processes().every((text) => text.endsWith(" ENDED")) ? true : undefined,
  );
});

test("[WK3] killed at any moment, workers and coordinators leave runs that end and add up", async (t) => {
  const prng = createPrng(`${seed}/load-kill`);
  const counts = new Map<string, number>();
  for (let kill = 0; kill < (kills || 2); kill += 1) {
    const what = await killOnce(prng, kill % 2 === 0 ? "coordinator" : "worker");
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  t.diagnostic(`seed ${seed}: ${JSON.stringify(Object.fromEntries(counts))}`);
});

async function killOnce(prng: Prng, victim: "coordinator" | "worker"): Promise<string> {
  const id = await runs.start(settingsOf(3, 4));
  const waitMs = prng.below(11_000);
  await new Promise((resolve) => setTimeout(resolve, waitMs));
  const { status, phase } = runs.row(id);
  const name = `worker-${prng.below(3)}`;
  const pid = victim === "coordinator" ? cluster.pid("coordinator") : pidOf(id, name);
  if (pid > 0 && isAlive(pid)) process.kill(pid, "SIGKILL");
  const end = await runs.untilEnded(id, 120_000);
  await runs.checkEnded(id);
  // While preparing every worker counts; afterwards two of three are enough.
  const isLost = victim === "worker" && phase === "PREPARING" && pid > 0;
  const wanted = isLost ? ["FAILED", "COMPLETED"] : ["COMPLETED"];
  assert.ok(wanted.includes(`${end.status}`), `${JSON.stringify(end)} after a kill in ${phase}`);
  return `${victim} in ${status} ${phase}: ${end.status}`;
}

test("[WK4] workers that nobody controls any more end by themselves", {
  skip: kills === 0,
}, async () => {
  const alone = await startCluster({ workers: 1 });
  try {
    const own = new LoadRuns(alone, server.url);
    const id = await own.start(settingsOf(2, 600));
    await own.untilMeasured(id, 2);
    const pids = own.workers(id).map(({ process_id: pid }) => Number(pid));
    process.kill(alone.pid("up"), "SIGKILL");
    await waitFor("the coordinator to end with `up`", () =>
      isAlive(alone.pid("coordinator")) ? undefined : true,
    );
    assert.ok(pids.every(isAlive), "workers outlive it");
    await waitFor("workers to end", () => (pids.some(isAlive) ? undefined : true), 110_000);
    assert.equal(own.row(id).status, "RUNNING");
  } finally {
    await alone.stop();
  }
});
