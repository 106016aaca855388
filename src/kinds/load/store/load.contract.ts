/** What runs in the store promise, whatever is under it. */

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { sql } from "kysely";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import type { LeaseGrant, Store } from "../../../ground/store/index.ts";
import {
  openFresh,
  openOn,
  type StoreFixture,
} from "../../../ground/store/testing/store-fixture.ts";
import { Histogram } from "../core/histogram.ts";
import type { RunId } from "../core/ids.ts";
import { formatHtmlReport } from "../core/report/format-html-report.ts";
import type { RunReport } from "../core/report/run-report.ts";
import { buildRunUpdate } from "../core/run-update.ts";
import type { Scenario } from "../core/scenario.ts";
import { LiveMetrics } from "../orchestrator/live-metrics.ts";
import { readRunUpdate } from "../orchestrator/read-run-update.ts";
import { readReport } from "../service/read-report.ts";
import { testRun, testWorker } from "../testing/ids.ts";
import { scenarioOf } from "../testing/scenario.ts";
import { finalizeRun, replacePercentiles, runsToEnrich, writeEnrichment } from "./finalize-run.ts";
import { deleteOldRuns, findOldRuns, listRuns } from "./run-history.ts";
import { readLogs } from "./run-logs.ts";
import { type PoolSource, readRunPools } from "./run-pools.ts";
import { readPoll, readStep, writePoll } from "./run-series.ts";
import { RunStore } from "./run-store.ts";
import { StoreWorkerControl } from "./store-worker-control.ts";
import {
  beatOf,
  bookOf,
  identityOf,
  leaseName,
  snapshotOf,
  takeLease,
} from "./testing/load-fixture.ts";

interface World {
  readonly store: Store;
  readonly runs: RunStore;
  readonly control: StoreWorkerControl;
  readonly lease: LeaseGrant;
  prepare(runId: RunId, scenario?: Scenario, testName?: string): Promise<void>;
}

const measuring = {
  status: "RUNNING",
  phase: "MEASUREMENT",
  startTimeMs: 1_000,
  warmupEndTimeMs: 11_000,
} as const;

const noPools: PoolSource = { kind: "values", pools: {} };

export function testLoadStore(fixture: StoreFixture, name: string = fixture.dialect): void {
  const open = async (t: TestContext): Promise<World & { readonly other: Store }> => {
    const { store, place } = await openFresh(fixture, t);
    const lease = await takeLease(store, 1);
    const runs = new RunStore(store);
    return {
      store,
      other: await openOn(place, t),
      runs,
      lease,
      control: new StoreWorkerControl(store, { leaseName }),
      prepare: (runId, scenario = scenarioOf(), testName = runId) =>
        runs.create(
          { runId, testName, scenario, targetSecret: null, expectedWorkers: 2, pools: noPools },
          lease,
        ),
    };
  };

  describe(`load tests on ${name}`, { concurrency: 2 }, () => {
    test("[RN1] only the lease's holder writes, and only what it decided for the status that still is", async (t) => {
      const { runs, lease, prepare, other } = await open(t);
      await prepare(testRun("r1"));
      const prepared = (await runs.look(testRun("r1")))?.run;
      assert.equal(prepared?.status, "PREPARED");
      assert.equal(prepared?.phase, "");
      await runs.apply(testRun("r1"), "PREPARED", measuring, lease);
      const stale = runs.apply(testRun("r1"), "PREPARED", { status: "CANCELLED" }, lease);
      await assert.rejects(stale, { code: "conflict" });
      const newer = await takeLease(other, 2);
      const fenced = runs.apply(testRun("r1"), "RUNNING", { phase: "COOLDOWN" }, lease);
      await assert.rejects(fenced, { code: "lease_lost" });
      assert.equal((await runs.look(testRun("r1")))?.run.phase, "MEASUREMENT");
      await runs.apply(testRun("r1"), "RUNNING", { phase: "COOLDOWN" }, newer);
      assert.deepEqual(await runs.runsToSee(0), ["r1"]);
    });

    test("[RN2] [RN3] [CT1] a decision is one transaction; events and logs are numbered without gaps", async (t) => {
      const { runs, lease, prepare, control, store } = await open(t);
      await prepare(testRun("r1"));
      const atMs = Date.UTC(2026, 0, 2);
      await runs.apply(
        testRun("r1"),
        "PREPARED",
        {
          status: "RUNNING",
          phase: "WARMUP",
          targets: { "worker-0": target(3) },
          events: [{ type: "START", to: { scope: "RUN" }, expectedWorkers: 2 }, setPhase(atMs)],
          deadWorkers: [{ workerId: testWorker("worker-1"), why: "its process ended" }],
          logs: [{ level: "INFO", message: "it begins" }],
        },
        lease,
      );
      const failing = runs.apply(testRun("r1"), "COMPLETED", { events: [setPhase(null)] }, lease);
      await assert.rejects(failing, { code: "conflict" });
      await runs.apply(testRun("r1"), "RUNNING", { events: [setPhase(null)] }, lease);
      const events = await control.events(testRun("r1"), 0);
      assert.deepEqual(
        events.map((event) => [event.sequence, event.type]),
        [
          [1, "START"],
          [2, "SET_PHASE"],
          [3, "SET_PHASE"],
        ],
      );
      assert.equal((await control.events(testRun("r1"), 2)).length, 1);
      const look = await runs.look(testRun("r1"));
      assert.ok(look);
      assert.equal(look.measurementAnnouncedMs, atMs);
      assert.deepEqual(look.run.targets, { "worker-0": target(3) });
      assert.equal(look.workers[0]?.status, "DEAD");
      const { nowMs: beforeMs } = look;
      await control.log(testRun("r1"), [lineOf("a"), lineOf("b")]);
      await control.log(testRun("r1"), [lineOf("b"), lineOf("c")]);
      const logs = await store.read((tx) => readLogs(tx, testRun("r1"), 1, 10));
      for (const { created_at: created } of logs) assert.ok(Date.parse(created) >= beforeMs);
      assert.deepEqual(
        logs.map(({ sequence, message }) => [sequence, message]),
        [
          [2, "slow"],
          [3, "slow"],
          [4, "slow"],
        ],
      );
    });

    test("[KT5] a run has a copy of its pools, from values, from its template, or from the run it repeats", async (t) => {
      const { store, runs, lease, prepare } = await open(t);
      const long = Array.from({ length: 4_321 }, (_, index) => `v${index}`);
      const given = { short: [1, null, true, "x"], long };
      const create = (runId: RunId, pools: PoolSource): Promise<void> =>
        runs.create(
          {
            runId,
            testName: runId,
            scenario: scenarioOf(),
            targetSecret: null,
            expectedWorkers: 1,
            pools,
          },
          lease,
        );
      await create(testRun("first"), { kind: "values", pools: given });
      await create(testRun("again"), { kind: "run", runId: testRun("first") });
      await store.transaction(({ db }) =>
        db.deleteFrom("run_status").where("run_id", "=", "first").execute(),
      );
      const read = (runId: RunId, templateId: string | null = null) =>
        store.read((tx) => readRunPools(tx, runId, templateId));
      assert.deepEqual(Object.fromEntries(await read(testRun("again"))), given);
      assert.equal((await read(testRun("first"))).size, 0);
      await store.transaction(async ({ db }) => {
        const row = { template_id: "t", template_name: "t", description: "", config: "{}" };
        const times = { created_at_ms: 1, updated_at_ms: 1 };
        await db
          .insertInto("test_templates")
          .values({ ...row, is_built_in: 0, ...times })
          .execute();
        const chunk = { template_id: "t", pool: "p", chunk: 0, pool_values: '["kept"]' };
        await db.insertInto("template_value_pools").values(chunk).execute();
      });
      await create(testRun("of-template"), { kind: "template", templateId: "t" });
      await prepare(testRun("old")); // Of a version whose runs had no pools of their own.
      assert.deepEqual(Object.fromEntries(await read(testRun("old"), "t")), { p: ["kept"] });
      await store.transaction(({ db }) => db.deleteFrom("test_templates").execute());
      assert.deepEqual(Object.fromEntries(await read(testRun("of-template"), "t")), {
        p: ["kept"],
      });
    });

    test("[SW1] [SW2] [SW3] [CT2] a newer process takes a worker's name over; one that was given up stops", async (t) => {
      const { runs, lease, prepare, control } = await open(t);
      await prepare(testRun("r1"));
      const [old, young] = [identityOf(testRun("r1"), 0), identityOf(testRun("r1"), 0, "two")];
      assert.equal(await control.register(identityOf(testRun("absent"), 0)), undefined);
      const view = await control.register(old);
      assert.equal(view?.status, "PREPARED");
      assert.equal(view?.leaseLapsedMs, 0);
      const book = bookOf();
      book.enter("MEASUREMENT", 0);
      book.record(book.token, 0, 1_000, 900, undefined, 1);
      assert.equal(await control.writeSnapshot(old, snapshotOf(old, 50, book)), "ok");
      await control.register(young);
      assert.equal(await control.beat(old, beatOf()), "superseded");
      assert.equal(await control.writeSnapshot(old, snapshotOf(old, 51, book)), "superseded");
      assert.equal(await control.beat(young, beatOf({ status: "READY" })), "ok");
      assert.equal(await control.writeSnapshot(young, snapshotOf(young, 1, book)), "ok");
      assert.equal(await control.beat(identityOf(testRun("r1"), 7), beatOf()), "gone");
      await runs.apply(testRun("r1"), "PREPARED", measuring, lease);
      await runs.apply(
        testRun("r1"),
        "RUNNING",
        {
          status: "CANCELLING",
          deadWorkers: [{ workerId: testWorker("worker-0"), why: "no heartbeat" }],
        },
        lease,
      );
      assert.equal(await control.beat(young, beatOf()), "superseded");
      await finalizeRun(
        runs.store,
        testRun("r1"),
        { from: "CANCELLING", status: "FAILED", logs: [] },
        lease,
      );
      const [run] = (await listRuns(runs.store, { limit: 1 })).runs;
      assert.equal(run?.total_operations, 2);
      assert.deepEqual(await runs.runsToSee(60_000), ["r1"]);
      assert.deepEqual(await runs.runsToSee(-1_000), []);
      await takeLease(runs.store, 2, -5_000);
      const lapsedMs = (await control.read(testRun("r1")))?.leaseLapsedMs ?? 0;
      assert.ok(lapsedMs >= 5_000 && lapsedMs < 60_000, `${lapsedMs} ms`);
    });

    test("[SW3] [RN3] workers and the orchestrator that write at once do not stand in each other's way", async (t) => {
      const { runs, lease, prepare, control, other, store } = await open(t);
      await prepare(testRun("r1"));
      await runs.apply(testRun("r1"), "PREPARED", measuring, lease);
      const second = new StoreWorkerControl(other, { leaseName });
      const rounds = 8;
      const work = async (group: number): Promise<void> => {
        const [worker, own] = [
          identityOf(testRun("r1"), group),
          group % 2 === 0 ? control : second,
        ];
        await own.register(worker);
        const book = bookOf();
        book.enter("MEASUREMENT", 0);
        for (let round = 1; round <= rounds; round += 1) {
          book.record(book.token, 0, 1_000, 900, undefined, 1);
          assert.equal(await own.writeSnapshot(worker, snapshotOf(worker, round, book)), "ok");
          assert.equal(await own.beat(worker, beatOf()), "ok");
          await own.log(testRun("r1"), [lineOf(`${group}/${round}`)]);
        }
      };
      const lead = async (): Promise<void> => {
        for (let round = 0; round < rounds; round += 1) {
          await runs.apply(testRun("r1"), "RUNNING", { events: [setPhase(null)] }, lease);
          await runs.look(testRun("r1"));
        }
      };
      await Promise.all([lead(), ...[0, 1, 2, 3].map(work)]);
      const events = await control.events(testRun("r1"), 0);
      const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
      assert.deepEqual(
        events.map((event) => event.sequence),
        upTo(rounds),
      );
      const logs = await store.read((tx) => readLogs(tx, testRun("r1"), 0, 100));
      assert.deepEqual(
        logs.map(({ sequence }) => sequence),
        upTo(4 * rounds),
      );
    });

    test("[FI5] the only worker of a run has the run's latencies, once its records are there", async (t) => {
      const { store, runs, lease, prepare, control } = await open(t);
      await prepare(testRun("r1"));
      await runs.apply(testRun("r1"), "PREPARED", measuring, lease);
      const worker = identityOf(testRun("r1"), 0);
      await control.register(worker);
      const book = bookOf();
      book.enter("MEASUREMENT", 0);
      for (let nth = 0; nth < 10; nth += 1)
        book.record(book.token, 0, 14_138, 14_138, undefined, 1);
      await control.finish(worker, snapshotOf(worker, 1, book), "COMPLETED");
      const end = { from: "RUNNING", status: "COMPLETED", logs: [] } as const;
      await finalizeRun(store, testRun("r1"), end, lease);
      const latency = new Map([["ALL", { ...recordedLatency, p95_latency_ms: 14.1755 }]]);
      await replacePercentiles(
        store,
        testRun("r1"),
        { recordCount: 10, successCount: 10, latency },
        lease,
      );
      const rows = await store.read(({ db }) =>
        db.selectFrom("test_results").select(["p95_latency_ms", "figures"]).execute(),
      );
      assert.deepEqual(
        rows.map(({ p95_latency_ms: p95 }) => p95),
        [14.1755, 14.1755],
      );
      const [slowest] = rows.flatMap(({ figures }) => JSON.parse(figures).slowest_worker ?? []);
      assert.equal(slowest.p95_latency_ms, 14.1755);
    });

    test("[FI1] [FI2] [FI3] [FI4] [FF1] [FF3] [CT3] [WS3] final figures are of measurement, merged, with those of who died", async (t) => {
      const { store, runs, lease, prepare, control } = await open(t);
      await prepare(testRun("r1"), {
        ...scenarioOf(),
        slos: [{ of: "ALL", metric: "p99", limit: 5 }],
      });
      await runs.apply(testRun("r1"), "PREPARED", measuring, lease);
      const workers = [identityOf(testRun("r1"), 0), identityOf(testRun("r1"), 1)];
      const all = new Histogram();
      for (const [index, worker] of workers.entries()) {
        await control.register(worker);
        const book = bookOf();
        book.record(book.token, 0, 99_000, 99_000, undefined, 1);
        book.enter("MEASUREMENT", 0);
        for (let nth = 1; nth <= 100; nth += 1) {
          const us = nth * 100 * (index + 1);
          book.record(
            book.token,
            nth % 4 === 0 ? 1 : 0,
            us,
            us,
            nth === 1 ? "timeout" : undefined,
            1,
          );
          if (nth > 1) all.record(us);
        }
        const first = snapshotOf(worker, 1, book);
        book.record(book.token, 0, 100, 100, undefined, 1);
        all.record(100);
        const second = snapshotOf(worker, 2, book);
        assert.equal(await control.writeSnapshot(worker, second), "ok");
        // Late: it takes nothing back.
        assert.equal(await control.writeSnapshot(worker, first), "ok");
        if (index === 0) await control.finish(worker, second, "COMPLETED");
      }
      await runs.apply(
        testRun("r1"),
        "RUNNING",
        {
          status: "STOPPING",
          phase: "COOLDOWN",
          stopTimeMs: 31_000,
          deadWorkers: [{ workerId: testWorker("worker-1"), why: "its process ended" }],
        },
        lease,
      );
      await finalizeRun(
        store,
        testRun("r1"),
        { from: "STOPPING", status: "COMPLETED", logs: [] },
        lease,
      );
      const page = await listRuns(store, { limit: 10 });
      const [parent] = page.runs;
      assert.equal(page.runs.length, 1);
      assert.equal(parent?.status, "COMPLETED");
      assert.equal(parent?.total_operations, 202);
      assert.equal(parent?.write_operations, 50);
      assert.equal(parent?.failed_operations, 2);
      assert.equal(parent?.qps, 200 / 20);
      assert.equal(parent?.p99_latency_ms, (all.percentileUs(0.99) ?? 0) / 1000);
      assert.equal(parent?.latency_aggregation_method, "merged_histogram");
      assert.equal(JSON.parse(parent?.slo_result ?? "")[0].state, "MISSED");
      assert.equal((await runs.look(testRun("r1")))?.run.phase, "PROCESSING");
      const children = await store.read(({ db }) =>
        db
          .selectFrom("test_results")
          .select(["status", "total_operations"])
          .where("worker_id", "is not", null)
          .orderBy("worker_id")
          .execute(),
      );
      assert.deepEqual(
        children.map((child) => [child.status, child.total_operations]),
        [
          ["COMPLETED", 101],
          ["DEAD", 101],
        ],
      );
      assert.deepEqual(await runsToEnrich(store), ["r1"]);
      const latency = new Map([
        ["ALL", recordedLatency],
        ["look", { ...recordedLatency, p95_latency_ms: 2.5 }],
      ]);
      const part = { recordCount: 101, successCount: 100, latency };
      await replacePercentiles(store, testRun("r1"), part, lease);
      const [partly] = (await listRuns(store, { limit: 1 })).runs;
      assert.equal(partly?.p99_latency_ms, parent?.p99_latency_ms, "half of the records say less");
      assert.equal(JSON.parse(partly?.figures ?? "").record_coverage, 0.5);
      await replacePercentiles(
        store,
        testRun("r1"),
        { recordCount: 202, successCount: 200, latency },
        lease,
      );
      await writeEnrichment(store, testRun("r1"), { status: "COMPLETED", ratio: 0.95 }, lease);
      const [after] = (await listRuns(store, { limit: 1 })).runs;
      assert.equal(after?.p99_latency_ms, 4);
      assert.equal(after?.total_operations, 202);
      const figures = JSON.parse(after?.figures ?? "");
      assert.equal(figures.record_coverage, 1);
      assert.equal(figures.final.percentiles_from, "records");
      assert.equal(figures.final.p99_latency_ms, 4, "one record has what the columns have");
      assert.equal(JSON.parse(after?.slo_result ?? "")[0].state, "MET", "objectives follow it");
      assert.deepEqual(await runsToEnrich(store), []);
      const shown = await readReport(store, testRun("r1"));
      assert.deepEqual(shown?.record, figures.final, "reports read the stored record");
      const look = shown?.record.operations.find(({ operation }) => operation === "look");
      assert.equal(look?.p95_latency_ms, 2.5);
      // As an earlier version would have left it: its columns, and no record.
      await store.transaction(async ({ db }) => {
        await db.updateTable("worker_series").set({ failed: null }).execute();
        await db.updateTable("test_results").set({ figures: "{}" }).execute();
      });
      const old = await readReport(store, testRun("r1"));
      assert.equal(old?.record.p99_latency_ms, 4, "what its lists show");
      assert.deepEqual([old?.record.unserved, old?.record.total_operations], [null, 202]);
      assert.match(old?.record.warnings.join("\n") ?? "", /earlier version/);
      assert.match(formatHtmlReport(old as RunReport), /earlier version/);
    });

    test("[LV2] [RU3] the update is of the cache where it is fresh, of the store where it is not; steps are apart", async (t) => {
      const { store, runs, lease, prepare, control } = await open(t);
      await prepare(testRun("r1"));
      await runs.apply(
        testRun("r1"),
        "PREPARED",
        { ...measuring, targets: { "worker-0": target(5) } },
        lease,
      );
      const live = new LiveMetrics({ clock: realClock });
      const workers = [identityOf(testRun("r1"), 0), identityOf(testRun("r1"), 1)];
      for (const [index, worker] of workers.entries()) {
        await control.register(worker);
        const book = bookOf();
        book.enter("MEASUREMENT", 0);
        book.record(book.token, 0, 1_000, 900, undefined, 1);
        book.enter("MEASUREMENT", 3);
        for (let nth = 0; nth < 5; nth += 1) book.record(book.token, 0, 2_000, 900, undefined, 1);
        for (let sequence = 1; sequence <= 4; sequence += 1) {
          const snapshot = snapshotOf(worker, sequence, book, { qps: sequence === 3 ? 1 : 20 });
          await control.writeSnapshot(worker, snapshot);
        }
        book.record(book.token, 0, 2_000, 900, undefined, 1);
        if (index === 0) live.accept(snapshotOf(worker, 5, book, { qps: 30 }));
      }
      const poll = {
        name: "db",
        startedClusters: null,
        running: 3,
        queued: 1,
        minClusterCount: null,
        maxClusterCount: null,
        scalingPolicy: null,
        raw: { x: 1 },
      };
      await writePoll(store, testRun("r1"), poll, lease);
      const facts = await readRunUpdate(store, live, testRun("r1"), 0);
      assert.ok(facts !== undefined);
      const update = buildRunUpdate(facts);
      assert.equal(update.run.aggregate_metrics.total_ops, 7 + 6);
      assert.equal(update.run.aggregate_metrics.qps, 50);
      assert.equal(update.warehouse?.queued, 1);
      assert.deepEqual(update.warnings, []);
      await store.transaction(({ db }) =>
        db
          .updateTable("worker_heartbeats")
          .set({ last_heartbeat_ms: sql<number>`now_ms() - 40000`, status: "RUNNING" })
          .where("worker_id", "=", "worker-1")
          .execute(),
      );
      const stale = await readRunUpdate(store, live, testRun("r1"), 0); // RU3
      assert.match(stale?.warnings.join() ?? "", /^worker-1 is stale: no heartbeat for 4\d s$/);
      assert.deepEqual(await store.read((tx) => readPoll(tx, testRun("r1"))), poll);
      const step = await store.read((tx) => readStep(tx, testRun("r1"), [3], true));
      assert.equal(step.own.ops, 10);
      assert.equal(step.own.qps, 40);
      assert.equal(step.own.p95Ms, 2);
      assert.equal(step.all.queuedShare, 1);
    });

    test("[RH1] [RH2] [RH3] history: parents by page, found by text; what is old goes with all that it has", async (t) => {
      const { store, runs, lease, prepare, control } = await open(t);
      for (const name of ["Nightly 100%", "nightly 100x", "other_a", "otherXa"]) {
        await prepare(testRun(`run-${name}`), scenarioOf(), name);
      }
      await control.register(identityOf(testRun("run-other_a"), 0));
      const names = async (search: string) =>
        (await listRuns(store, { search, limit: 9 })).runs.map((run) => run.test_name).sort();
      assert.deepEqual(await names("NIGHTLY 100%"), ["Nightly 100%"]);
      assert.deepEqual(await names("other_"), ["other_a"]);
      const first = await listRuns(store, { limit: 3 });
      const second = await listRuns(store, { limit: 3, after: first.next ?? "" });
      assert.deepEqual([first.runs.length, second.runs.length, second.next], [3, 1, undefined]);
      assert.equal(new Set([...first.runs, ...second.runs].map((run) => run.run_id)).size, 4);
      await runs.apply(testRun("run-otherXa"), "PREPARED", { status: "RUNNING" }, lease);
      const running = await listRuns(store, { limit: 9, statuses: ["RUNNING"] });
      assert.deepEqual(
        running.runs.map((run) => run.run_id),
        ["run-otherXa"],
      );
      assert.deepEqual(await findOldRuns(store, { ageMs: 3_600_000, limit: 9 }), []);
      const ageMs = -1_000;
      assert.equal((await findOldRuns(store, { ageMs, limit: 2 })).length, 2);
      const runIds = await findOldRuns(store, { ageMs, limit: 9 });
      assert.equal(await deleteOldRuns(store, { ageMs, runIds: ["run-otherXa"] }, lease), 0);
      assert.equal(await deleteOldRuns(store, { ageMs, runIds }, lease), 3);
      assert.equal((await listRuns(store, { limit: 9 })).runs.length, 1);
      assert.equal(await control.beat(identityOf(testRun("run-other_a"), 0), beatOf()), "gone");
    });
  });
}

const recordedLatency = {
  p50_latency_ms: 1,
  p90_latency_ms: 2,
  p95_latency_ms: 3,
  p99_latency_ms: 4,
  p999_latency_ms: 5,
  avg_latency_ms: 1.5,
  min_latency_ms: 0.5,
  max_latency_ms: 6,
};

function setPhase(atMs: number | null) {
  return { type: "SET_PHASE", to: { scope: "RUN" }, phase: "MEASUREMENT", atMs } as const;
}

function lineOf(logId: string) {
  const line = { logId, testId: null, workerId: testWorker("worker-0"), level: "WARNING" } as const;
  return { ...line, message: "slow", details: { why: 1 }, timestampMs: 5 };
}

function target(connections: number) {
  return { connections, qps: null, stepId: null, stepNumber: null };
}
