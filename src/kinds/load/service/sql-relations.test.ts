import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { ReadableRelation, WantedRows } from "../../../data/lake/index.ts";
import { startLakeCluster } from "../../../data/lake/statements/testing/lake-cluster.ts";
import { executionColumns } from "../executions/execution-table.ts";
import { writePoll } from "../store/run-series.ts";
import { RunStore } from "../store/run-store.ts";
import { StoreWorkerControl } from "../store/store-worker-control.ts";
import { identityOf, leaseName, takeLease } from "../store/testing/load-fixture.ts";
import { testRun } from "../testing/ids.ts";
import { scenarioOf } from "../testing/scenario.ts";
import { createLoadRelations } from "./sql-relations.ts";

/** What statements asked relations for, and how much SQL the answer was. */
const opened: { name: string; wanted: WantedRows | undefined; chars: number; isFile: boolean }[] =
  [];
const cluster = await startLakeCluster({
  relations: (store) =>
    new Map(
      [...createLoadRelations(store)].map(([name, relation]) => [
        name,
        {
          ...relation,
          open: async (there, signal, wanted) => {
            const found = await relation.open(there, signal, wanted);
            const isFile = found.lines !== undefined;
            opened.push({ name, wanted, chars: found.sql.length, isFile });
            return found;
          },
        } satisfies ReadableRelation,
      ]),
    ),
});
after(() => cluster.close());
const { rows, store, objects } = cluster;
const lease = await takeLease(store, 1);
const runs = new RunStore(store);

const views = [
  "v_latest_test_results",
  "v_metrics_by_minute",
  "v_warehouse_metrics",
  "v_cluster_breakdown",
  "v_warehouse_timeseries",
];

test("[RV2] results and views are there before anything ran, with their columns", async () => {
  for (const name of ["test_results", ...views]) {
    assert.deepEqual(await rows(`SELECT count(*) FROM ${name}`), [[0]], name);
  }
  await rows("SELECT p95_latency_ms, start_time, verdict FROM test_results");
  await rows("SELECT run_id, minute, p95_latency_ms FROM v_metrics_by_minute");
  await rows("SELECT run_id, minute, active_clusters FROM main.v_warehouse_timeseries");
});

test("[RV2] [LS10] results, views and the lake's tables in one statement; quotes and NULLs as they are", async () => {
  const names = ['it\'s "nightly"', 'it\'s "nightly"', "other"];
  for (const [index, testName] of names.entries()) {
    const pools = { kind: "values", pools: {} } as const;
    const run = {
      runId: testRun(`r${index}`),
      testName,
      scenario: scenarioOf(),
      targetSecret: null,
    };
    await runs.create({ ...run, expectedWorkers: 1, pools }, lease);
  }
  const control = new StoreWorkerControl(store, { leaseName });
  await control.register(identityOf(testRun("r1"), 0));
  await store.transaction(({ db }) =>
    db.updateTable("test_results").set({ created_at_ms: 5 }).where("test_id", "=", "r0").execute(),
  );
  const poll = { name: "db", startedClusters: null, running: 3, queued: 1 };
  const rest = { minClusterCount: null, maxClusterCount: null, scalingPolicy: null, raw: {} };
  await writePoll(store, testRun("r1"), { ...poll, ...rest }, lease);
  assert.deepEqual(
    await rows("SELECT test_id, test_name, qps FROM v_latest_test_results ORDER BY test_id"),
    [
      ["r1", names[0], null],
      ["r2", "other", null],
    ],
  );
  assert.deepEqual(await rows("SELECT count(*) FROM test_results WHERE worker_id IS NOT NULL"), [
    [1],
  ]);
  assert.deepEqual(
    await rows("SELECT running, queued, started_clusters FROM v_warehouse_metrics"),
    [[3, 1, null]],
  );
  const columns = executionColumns.map(({ name, type }) => `${name} ${type}`).join(", ");
  await rows(`CREATE TABLE query_executions (${columns})`);
  const record = (run: string, startMs: number, ms: number, more: string): string =>
    `SELECT '${run}/' || ${startMs}, '${run}', '${run}', 'w', 1, 'a', 'CUSTOM', 0, ${startMs}, ${startMs}, ${ms}, ${ms}, ${more}`;
  const fine = "true, NULL, NULL, 1, false, 'q', 1, 1, 1, 4, 2";
  const failed = "false, 'other', 'x', 0, false, NULL, NULL, NULL, NULL, NULL, NULL";
  const warm = "true, NULL, NULL, 1, true, NULL, NULL, NULL, NULL, NULL, NULL";
  const records = [
    record("r1", 60_000, 10, fine),
    record("r1", 61_000, 30, failed),
    record("r1", 120_000, 50, fine),
    record("r2", 60_000, 70, warm),
  ];
  await rows(`INSERT INTO query_executions ${records.join(" UNION ALL ")}`);
  assert.deepEqual(
    await rows(`SELECT r.test_name, epoch_ms(m.minute), m.operations, m.errors
      FROM v_metrics_by_minute m JOIN test_results r ON r.test_id = m.run_id ORDER BY 2`),
    [
      [names[0], 60_000, 2, 1],
      [names[0], 120_000, 1, 0],
    ],
  );
  assert.deepEqual(
    await rows("SELECT cluster_number, operations, avg_queued_ms FROM v_cluster_breakdown"),
    [[2, 2, 4]],
  );
  assert.deepEqual(
    await rows("SELECT count(*), sum(active_clusters) FROM V_WAREHOUSE_TIMESERIES"),
    [[2, 2]],
  );
  assert.deepEqual(await rows("SELECT count(*) FROM query_executions"), [[4]]);
});

test("[LS10] they are read only, and a table of the lake of the same name goes first", async () => {
  await assert.rejects(rows("INSERT INTO test_results SELECT 1"), { code: "not_found" });
  await assert.rejects(rows("DROP TABLE v_metrics_by_minute"), { code: "not_found" });
  await assert.rejects(rows("SELECT * FROM v_no_such_view"), { code: "not_found" });
  await rows("CREATE TABLE v_warehouse_metrics (mine INTEGER)");
  assert.deepEqual(await rows("SELECT count(mine) FROM v_warehouse_metrics"), [[0]]);
  await rows("DROP TABLE v_warehouse_metrics");
  assert.deepEqual(await rows("SELECT count(*) FROM v_warehouse_metrics"), [[1]]);
});

test("[RV2] [RW1] [RV3] any number of rows can be read, those of one run without the others, and nothing of them stays beside the lake", async () => {
  const rowCount = 30_000;
  const poll = { run_id: "r1", elapsed_seconds: 0.1, warehouse_name: "b\u00e4nch \"x\" \n'y'" };
  const rest = { min_cluster_count: null, max_cluster_count: 7, raw_result: "{}" };
  await store.transaction(async ({ db }) => {
    await db.deleteFrom("warehouse_poll_snapshots").execute();
    for (let from = 0; from < rowCount; from += 500) {
      const polls = Array.from({ length: 500 }, (_, index) => ({
        ...poll,
        ...rest,
        snapshot_id: `s${from + index}`,
        timestamp_ms: 1_763_424_000_000 + (from + index) * 5_000,
        started_clusters: null,
        running: from + index,
        queued: 0,
        scaling_policy: null,
        created_at_ms: 1,
      }));
      await db.insertInto("warehouse_poll_snapshots").values(polls).execute();
    }
  });
  const last = 1_763_424_000_000 + (rowCount - 1) * 5_000;
  assert.deepEqual(
    await rows(`SELECT count(*), count(DISTINCT running), sum(running), epoch_ms(max(timestamp)),
      min(warehouse_name), count(started_clusters), max(max_cluster_count), min(elapsed_seconds)
      FROM v_warehouse_metrics`),
    [[rowCount, rowCount, (rowCount * (rowCount - 1)) / 2, last, poll.warehouse_name, 0, 7, 0.1]],
  );
  await rows("EXPLAIN SELECT * FROM v_warehouse_metrics");
  // One run's rows, of that run alone.
  await store.transaction(({ db }) =>
    db
      .updateTable("warehouse_poll_snapshots")
      .set({ run_id: "r2" })
      .where("snapshot_id", "in", ["s7", "s8", "s29999"])
      .execute(),
  );
  opened.length = 0;
  const few = "SELECT count(*), sum(running) FROM v_warehouse_metrics m";
  assert.deepEqual(await rows(`${few} WHERE m.run_id = 'r2' AND running < 20`), [[2, 15]]);
  assert.deepEqual(
    await rows(`${few} JOIN test_results t ON t.test_id = m.run_id
      WHERE m.run_id IN ('r2', 'none') AND t.test_id = 'r2'`),
    [[3, 30_014]],
  );
  assert.deepEqual(
    opened.map(({ name, wanted, isFile, chars }) => [name, wanted?.values, isFile, chars < 5_000]),
    [
      ["v_warehouse_metrics", ["r2"], false, true],
      ["v_warehouse_metrics", ["r2", "none"], false, true],
      ["test_results", ["r2"], false, true],
    ],
  );
  assert.deepEqual(await rows("SELECT count(*) FROM v_warehouse_metrics WHERE run_id = 'q'"), [
    [0],
  ]);
  assert.deepEqual(await rows("SELECT test_name FROM test_results WHERE run_id = 'r2'"), [
    ["other"],
  ]);
  await store.transaction(async ({ db }) => {
    const name = "x".repeat(60_000);
    const row = await db.selectFrom("test_results").selectAll().limit(1).executeTakeFirstOrThrow();
    for (let index = 0; index < 40; index += 1) {
      const changed = { test_id: `big-${index}`, worker_id: `w-${index}`, test_name: name };
      await db
        .insertInto("test_results")
        .values({ ...row, ...changed, percentiles_valid: 0 })
        .execute();
    }
  });
  assert.deepEqual(
    await rows(`SELECT count(*) FILTER (NOT r.percentiles_valid), count(l.test_id)
      FROM test_results r LEFT JOIN v_latest_test_results l USING (test_id)`),
    [[40, 2]],
  );
  const left = await Array.fromAsync(objects.list("uploads/"));
  assert.deepEqual(left, []);
});
