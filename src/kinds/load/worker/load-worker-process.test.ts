/**
 * The command: a real process, on a real store, against a real Postgres, with its records in a real
 * lake.
 */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { startEngine } from "../../../data/duckdb/index.ts";
import { LakeStore, openLakeFiles } from "../../../data/lake/index.ts";
import { silentLogger } from "../../../ground/kernel/logger.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { eventually } from "../../../ground/kernel/testing/eventually.ts";
import { openStore, type Store, setupStore } from "../../../ground/store/index.ts";
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from "../../../ground/store/testing/embedded-postgres.ts";
import { Histogram } from "../core/histogram.ts";
import { finalFigures } from "../executions/final-figures.ts";
import { createLakeRunRecords } from "../executions/lake-run-records.ts";
import { LocalSpawner } from "../host/local-spawner.ts";
import { RunOrchestrator } from "../orchestrator/run-orchestrator.ts";
import { sealSecret } from "../orchestrator/seal.ts";
import { RunStore } from "../store/run-store.ts";
import { takeLease } from "../store/testing/load-fixture.ts";
import { openTarget } from "../targets/open-target.ts";
import { createTargetFiles } from "../targets/target-files.ts";
import { testRun } from "../testing/ids.ts";
import { scenarioOf } from "../testing/scenario.ts";

const launcher = join(import.meta.dirname, "..", "..", "..", "..", "bin", "capstan.js");
const never = new AbortController().signal;
let postgres: EmbeddedPostgres;
before(async () => {
  postgres = await startEmbeddedPostgres();
});
after(() => postgres.stop());

async function openLake(t: TestContext, home: string, store: Store) {
  const catalog = new LakeStore({ store, prng: createPrng("test") });
  const lake = { kind: "directory", root: join(home, "lake") } as const;
  const { objects } = await openLakeFiles(lake, { clock: realClock });
  const engine = await startEngine({
    memoryLimitBytes: 512 * 1024 ** 2,
    treeLimitBytes: 1024 ** 3,
    threads: 1,
    spoolDir: join(home, "spool"),
    readableDirs: [lake.root],
    connections: 1,
    clock: realClock,
    logger: silentLogger,
  });
  t.after(() => engine.close());
  return { store, catalog, engine, objects };
}

async function prepare(t: TestContext) {
  const home = mkdtempSync(join(tmpdir(), "capstan-load-worker-"));
  const config = {
    kind: "sqlite",
    path: join(home, "store.sqlite"),
    clock: realClock,
    logger: silentLogger,
  } as const;
  await setupStore(config);
  const store = await openStore(config);
  const children: ChildProcess[] = [];
  t.after(async () => {
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    await store.close();
    rmSync(home, { recursive: true, force: true });
  });
  const lease = await takeLease(store, 1, 600_000);
  const runs = new RunStore(store);
  const url = new URL(await postgres.createDatabase());
  const password = decodeURIComponent(url.password);
  const targetSecret = sealSecret(password, "secret", testRun("run-1"));
  url.password = "";
  const scenario = scenarioOf({
    target: { url: url.href },
    workload: { concurrentConnections: 2, warmupSeconds: 1, durationSeconds: 60 },
  });
  const [runId, expectedWorkers] = [testRun("run-1"), 1] as const;
  const pools = { kind: "values", pools: {} } as const;
  await runs.create(
    { runId, testName: "n", scenario, targetSecret, expectedWorkers, pools },
    lease,
  );
  await runs.apply(runId, "PREPARED", { status: "RUNNING", phase: "PREPARING" }, lease);
  const start = () => {
    const args = [
      ...["load-worker", "--run-id", runId, "--worker-id", "worker-0", "--data-dir", home],
      ...["--worker-group-id", "0", "--worker-group-count", "1"],
      ...["--coordinator-url", "http://127.0.0.1:1", "--log-format", "json"],
    ];
    // As under `npm start`: it is not to end with its parent's parent.
    const env = { ...process.env, CAPSTAN_CLUSTER_TOKEN: "secret", npm_lifecycle_event: "start" };
    const child = spawn(process.execPath, [launcher, ...args], { env });
    children.push(child);
    const said: string[] = [];
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => void said.push(chunk.toString()));
    }
    return { child, exited: once(child, "exit") as Promise<[number]>, said };
  };
  const status = async (wanted: string) =>
    await eventually(`worker-0 is ${wanted}`, async () => {
      const look = await runs.look(runId);
      const worker = look?.workers.find(({ workerId }) => workerId === "worker-0");
      return worker?.status === wanted ? worker : undefined;
    });
  return { home, store, runs, lease, runId, scenario, password, start, status };
}

/** SQLite tells of no queries. */
const noEnrichment = { append: () => assert.fail("nothing is enriched") };

test("[LW17] a process does its share of a run, from READY to its last record, and ends with 0", async (t) => {
  const { home, store, runs, lease, runId, start, status } = await prepare(t);
  const { exited, said } = start();
  await status("READY");
  await runs.apply(
    runId,
    "RUNNING",
    {
      phase: "MEASUREMENT",
      events: [
        { type: "START", to: { scope: "RUN" }, expectedWorkers: 1 },
        { type: "SET_PHASE", to: { scope: "RUN" }, phase: "MEASUREMENT", atMs: null },
      ],
    },
    lease,
  );
  await status("RUNNING");
  await eventually("three snapshots", async () => {
    const rows = await store.read(({ db }) =>
      db.selectFrom("worker_metrics_snapshots").select("sequence").execute(),
    );
    return rows.length >= 3 ? true : undefined;
  });
  await runs.apply(
    runId,
    "RUNNING",
    {
      status: "STOPPING",
      events: [
        {
          type: "STOP",
          to: { scope: "RUN" },
          reason: "duration_elapsed",
          initiatedBy: "test",
          drainMs: 10_000,
          atMs: null,
        },
      ],
    },
    lease,
  );
  const [code] = await exited;
  assert.equal(code, 0, said.join(""));
  await status("COMPLETED");
  assert.equal(said.join("").includes("secret"), false);
  assert.deepEqual(readdirSync(join(home, "load")), [], "its staging is gone");

  const figures = await finalFigures(await openLake(t, home, store), runId, never);
  assert.ok(figures.total_operations > 10, `${figures.total_operations}`);
  assert.deepEqual([figures.coverage, figures.failed_operations], [1, 0]);
  assert.ok((figures.latency?.p99_ms ?? 0) > 0);
});

test("[LW17] a signal ends it before a run has started, with a failure's status", async (t) => {
  const { start, status } = await prepare(t);
  const { child, exited } = start();
  await status("READY");
  child.kill("SIGTERM");
  const [code] = await exited;
  assert.equal(code, 1);
  const { lastError } = await status("FAILED");
  assert.match(lastError ?? "", /signal/);
});

test("[LW18] orchestrator and two workers, all real: a run of three seconds ends by itself, with exact percentiles of everything", async (t) => {
  const { home, store, lease, scenario, password } = await prepare(t);
  const spawner = new LocalSpawner({
    loadMemoryLimit: 1024 ** 3,
    command: [process.execPath, launcher],
    storeUrl: join(home, "store.sqlite"),
    dataDir: home,
    coordinatorUrl: "http://127.0.0.1:1",
    clusterToken: "secret",
    clock: realClock,
    logger: silentLogger,
  });
  const orchestrator = new RunOrchestrator({
    store,
    spawner,
    openTarget: (config, given) =>
      openTarget(config, given, realClock, {
        tag: "t",
        files: createTargetFiles({ dataDir: home }),
      }),
    records: createLakeRunRecords({
      ...(await openLake(t, home, store)),
      appender: noEnrichment,
      change: async () => undefined,
    }),
    clusterToken: "secret",
    lease: () => lease,
    clock: realClock,
    prng: createPrng("orchestrator"),
    logger: silentLogger,
  });
  orchestrator.open();
  t.after(async () => {
    await orchestrator.close();
    spawner.close();
  });
  const workload = { ...scenario.workload, concurrentConnections: 4, durationSeconds: 3 };
  const scaling = { ...scenario.scaling, workerCount: 2 };
  const runId = await orchestrator.prepareRun({
    scenario: { ...scenario, workload, scaling },
    testName: "real",
    password,
  });
  await orchestrator.startRun(runId);
  const readResults = () =>
    store.read(({ db }) =>
      db.selectFrom("test_results").selectAll().where("run_id", "=", runId).execute(),
    );
  const parent = await eventually(
    "the run has its final figures",
    async () => {
      const found = (await readResults()).find(({ test_id }) => test_id === runId);
      const isDone = found?.status === "COMPLETED" && found.figures.includes("record_coverage");
      return isDone ? found : undefined;
    },
    120_000,
  );
  const children = (await readResults()).filter(({ test_id }) => test_id !== runId);
  assert.deepEqual(
    children.map(({ status }) => status),
    ["COMPLETED", "COMPLETED"],
  );
  const total = children.reduce((sum, { total_operations }) => sum + total_operations, 0);
  assert.ok(total > 50, `${total}`);
  assert.equal(parent.total_operations, total);
  assert.equal(parent.failed_operations, 0);
  const figures = JSON.parse(parent.figures) as { response: string; record_coverage: number };
  assert.equal(figures.record_coverage, 1);
  const live = Histogram.decode(figures.response);
  // The histogram's 0.4 %, and what there is between the neighbours at that rank: the fewer there
  // are, the more. A busy machine executes few.
  const liveMs = (rank: number): number => (live?.percentileUs(rank) ?? 0) / 1000;
  const [lowMs, highMs] = [liveMs(0.99 - 2 / total), liveMs(Math.min(1, 0.99 + 2 / total))];
  const p99Ms = parent.p99_latency_ms ?? 0;
  const shown = `${p99Ms} of ${total} is not within ${lowMs} and ${highMs}`;
  assert.ok(lowMs > 0 && p99Ms > 0.99 * lowMs && p99Ms < 1.01 * highMs, shown);
});
