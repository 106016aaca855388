/**
 * Records of executions, from the hot path to the lake and back as figures: real thread, real
 * SQLite, real files, real DuckDB.
 */

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { startEngine } from "../../../data/duckdb/index.ts";
import { checkLake } from "../../../data/lake/core/check-lake.ts";
import { LakeStore, openLakeFiles, tableSql, withFiles } from "../../../data/lake/index.ts";
import { readLakeRows } from "../../../data/lake/store/read-lake-rows.ts";
import { type LogFields, silentLogger } from "../../../ground/kernel/logger.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { VirtualClock } from "../../../ground/kernel/testing/virtual-clock.ts";
import { openStore, type Store, setupStore } from "../../../ground/store/index.ts";
import { figuresOf } from "../core/figures.ts";
import { mergeHistograms } from "../core/histogram.ts";
import type { QueryKind } from "../core/operation.ts";
import { type MeasuredPhase, SeriesBook } from "../core/series-book.ts";
import type { OperationFailure } from "../core/target.ts";
import type { SeriesSnapshot } from "../core/worker-snapshot.ts";
import type { Executed } from "../generator/load-generator.ts";
import { testRun, testWorker } from "../testing/ids.ts";
import type { ExecutionBatch } from "./execution-buffer.ts";
import { ExecutionRecorder, type ExecutionSink } from "./execution-recorder.ts";
import { executionTable } from "./execution-table.ts";
import { finalFigures, recordedPercentiles } from "./final-figures.ts";
import { readExecutions } from "./read-executions.ts";
import { readRunViews } from "./run-views.ts";
import { startThreadSink } from "./thread-sink.ts";

const operations: readonly { name: string; kind: QueryKind }[] = [
  { name: "look", kind: "POINT_LOOKUP" },
  { name: "put", kind: "INSERT" },
];
const never = new AbortController().signal;

function executed(change: Partial<Executed> = {}): Executed {
  return {
    operation: 0,
    connection: 1,
    phase: "MEASUREMENT",
    step: 0,
    intendedMs: 10,
    startMs: 11,
    endMs: 15,
    failure: undefined,
    rowCount: 1,
    ...change,
  };
}

async function openPlace(t: TestContext) {
  const home = await mkdtemp(join(tmpdir(), "capstan-executions-"));
  const location = { kind: "sqlite", path: join(home, "store.sqlite") } as const;
  const config = { ...location, clock: realClock, logger: silentLogger };
  await setupStore(config);
  const store = await openStore(config);
  const catalog = new LakeStore({ store, prng: createPrng(home) });
  await catalog.declareDataPath(home);
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
  t.after(async () => {
    await engine.close();
    await store.close();
    await rm(home, { recursive: true, force: true });
  });
  const recorderOf = (
    workerId: string,
    more: { oneIn?: number; logger?: typeof silentLogger; capacity?: number } = {},
  ) =>
    new ExecutionRecorder({
      sink: startThreadSink({
        store: location,
        lake,
        stagingDir: join(home, `staging-${workerId}`),
        source: {
          runId: testRun("r"),
          testId: `t-${workerId}`,
          workerId: testWorker(workerId),
          operations,
        },
      }),
      oneIn: 1,
      originMs: () => 1e12,
      clock: realClock,
      logger: silentLogger,
      ...more,
    });
  const rows = async (sql: string) => {
    const moment = { kind: "current" } as const;
    const [version] = await catalog.resolve([{ schema: undefined, name: executionTable, moment }]);
    assert.ok(version !== undefined);
    return await withFiles(objects, [version], never, async (localPaths) => {
      const relation = tableSql(version, { rowIds: false, localPaths });
      const relations = [{ schema: "main", name: executionTable, sql: relation }];
      return await engine.withSession(relations, never, (session) => session.run(sql, never));
    });
  };
  return { store, catalog, objects, engine, recorderOf, rows };
}

async function storeSeries(
  store: Store,
  workers: ReadonlyMap<string, readonly SeriesSnapshot[]>,
): Promise<void> {
  await store.transaction(async ({ db }) => {
    await db
      .insertInto("run_status")
      .values({
        run_id: "r",
        test_id: "r",
        template_id: null,
        test_name: "n",
        scenario_config: "{}",
        target_secret: null,
        status: "COMPLETED",
        phase: "PROCESSING",
        start_time_ms: 0,
        warmup_start_time_ms: 0,
        warmup_end_time_ms: 0,
        stop_time_ms: 0,
        end_time_ms: 0,
        total_workers_expected: 1,
        workers_registered: 1,
        workers_active: 0,
        workers_completed: 1,
        total_ops: 0,
        error_count: 0,
        current_qps: 0,
        worker_targets: "{}",
        next_sequence_id: 1,
        next_log_sequence: 1,
        find_max_state: null,
        guardrail_state: null,
        stop_reason: null,
        cancellation_reason: null,
        created_at_ms: 0,
        updated_at_ms: 0,
      })
      .execute();
    for (const [worker_id, series] of workers) {
      for (const each of series) {
        await db
          .insertInto("worker_series")
          .values({
            run_id: "r",
            worker_id,
            operation: each.operation,
            query_kind: each.kind,
            phase: each.phase,
            step_number: each.step,
            sequence: 1,
            ops: each.ops,
            row_count: each.rows,
            errors: JSON.stringify(each.errors),
            response: each.response,
            service: each.service,
            failed: each.failed,
            unserved: each.unserved,
            censored: each.censored,
          })
          .execute();
      }
    }
  });
}

test("[QX1] [QX2] every execution is a row with what is known of it, and NULL where nothing is", async (t) => {
  const { recorderOf, rows } = await openPlace(t);
  const recorder = recorderOf("worker-0");
  const failure: OperationFailure = { kind: "constraint", code: "23505", message: "it's there" };
  recorder.record(executed());
  recorder.record(executed({ operation: 1, failure, rowCount: 0, phase: "WARMUP", step: 3 }));
  await recorder.finish(60_000);
  assert.deepEqual(recorder.figures, { recorded: 2, written: 2, dropped: 0, lost: 0 });
  const found = await rows(
    `SELECT execution_id, test_id, run_id, worker_id, connection_id, operation, query_kind, step_number, intended_start_ms, start_ms,
app_elapsed_ms, service_ms, success, error_kind, error_message, rows_affected, warmup, sf_query_id, sf_cluster_number
FROM query_executions ORDER BY execution_id`,
  );
  const base = ["t-worker-0", "r", "worker-0", 1];
  const [times, sf] = [
    [1e12 + 10, 1e12 + 11, 5, 4],
    [null, null],
  ];
  assert.deepEqual(found, [
    [
      "t-worker-0/0",
      ...base,
      "look",
      "POINT_LOOKUP",
      0,
      ...times,
      true,
      null,
      null,
      "1",
      false,
      ...sf,
    ],
    [
      ...["t-worker-0/1", ...base, "put", "INSERT", 3, ...times, false],
      ...["constraint", "23505: it's there", "0", true, ...sf],
    ],
  ]);
});

test("[QX3] workers that begin at once make the table once, and all rows are there, once", async (t) => {
  const { recorderOf, rows, catalog, store } = await openPlace(t);
  const names = ["worker-0", "worker-1", "worker-2"];
  const recorders = names.map((name) => recorderOf(name, { capacity: 100 }));
  for (let index = 0; index < 250; index += 1) {
    for (const recorder of recorders) recorder.record(executed({ startMs: index }));
  }
  await Promise.all(recorders.map((recorder) => recorder.finish(60_000)));
  const found = await rows(
    "SELECT count(*), count(DISTINCT execution_id), count(DISTINCT worker_id) FROM query_executions",
  );
  assert.deepEqual(found, [["750", "750", "3"]]);
  assert.equal((await catalog.tables()).length, 1);
  assert.deepEqual(checkLake(await store.read(readLakeRows)), []);
});

test("[QX4] a table of that name with other columns is left alone, and the records are lost and counted", async (t) => {
  const { recorderOf, catalog } = await openPlace(t);
  const column = { name: "mine", type: "BIGINT", nullable: true, defaultValue: undefined };
  await catalog.commit({
    readSnapshot: (await catalog.current()).snapshot,
    token: "mine",
    changes: [
      {
        kind: "createTable",
        schema: "main",
        name: executionTable,
        columns: [column],
        files: [],
        orReplace: false,
      },
    ],
    author: "me",
    message: "",
  });
  const warned: LogFields[] = [];
  const logger = { ...silentLogger, warn: (fields: LogFields) => void warned.push(fields) };
  const recorder = recorderOf("worker-0", { logger });
  recorder.record(executed());
  await recorder.finish(60_000);
  assert.deepEqual(recorder.figures, { recorded: 1, written: 0, dropped: 0, lost: 1 });
  assert.match(String(warned[0]?.error), /somebody else's/);
});

test("[QX5] [QX6] a lake that takes nothing costs records, which are counted, and no memory or time", async () => {
  const clock = new VirtualClock();
  const held: ExecutionBatch[] = [];
  const waits: PromiseWithResolvers<ExecutionBatch>[] = [];
  const sink: ExecutionSink = {
    write: (batch) => {
      held.push(batch);
      const wait = Promise.withResolvers<ExecutionBatch>();
      waits.push(wait);
      return wait.promise;
    },
    close: async () => {
      for (const { reject } of waits) reject(new Error("closed"));
    },
  };
  const recorder = new ExecutionRecorder({
    sink,
    oneIn: 2,
    originMs: () => 0,
    clock,
    logger: silentLogger,
    capacity: 10,
    batchesMax: 2,
  });
  for (let index = 0; index < 100; index += 1) recorder.record(executed());
  // Fifty are chosen: two batches and a full buffer take thirty.
  assert.deepEqual(recorder.figures, { recorded: 30, written: 0, dropped: 20, lost: 0 });
  waits[0]?.resolve(held[0] as ExecutionBatch);
  await clock.advance(5_000);
  assert.equal(held.length, 3, "what is full goes when there is room");
  recorder.record(executed());
  recorder.record(executed());
  const finished = recorder.finish(1_000);
  await clock.advance(1_000);
  await finished;
  assert.deepEqual(recorder.figures, { recorded: 31, written: 10, dropped: 20, lost: 21 });
});

test("[QX7] [QX8] final percentiles of the lake, unserved arrivals added, agree with merged live histograms; counts are the series'", async (t) => {
  const { recorderOf, store, catalog, engine, objects } = await openPlace(t);
  const prng = createPrng("latencies");
  const books = new Map<string, readonly SeriesSnapshot[]>();
  const exact: number[] = [];
  // Three workers, uneven in load and in speed.
  for (const [workerId, count, scale] of [
    ["worker-0", 20_000, 1],
    ["worker-1", 5_000, 4],
    ["worker-2", 1_000, 40],
  ] as const) {
    const recorder = recorderOf(workerId);
    const book = new SeriesBook(operations, "WARMUP");
    for (const phase of ["WARMUP", "MEASUREMENT"] satisfies MeasuredPhase[]) {
      book.enter(phase, 0);
      for (let index = 0; index < count; index += 1) {
        const operation = prng.next() < 0.8 ? 0 : 1;
        const elapsedMs = scale * Math.exp(2 * (prng.next() + prng.next() + prng.next() - 1.5));
        const failure: OperationFailure | undefined =
          prng.next() < 0.01 ? { kind: "deadlock", code: "40P01", message: "no" } : undefined;
        if (phase === "MEASUREMENT" && failure === undefined) exact.push(elapsedMs);
        const times = { intendedMs: index, startMs: index, endMs: index + elapsedMs };
        recorder.record(executed({ operation, phase, failure, ...times }));
        book.record(book.token, operation, elapsedMs * 1000, elapsedMs * 1000, failure?.kind, 1);
      }
    }
    await recorder.finish(60_000);
    // A hundred arrivals of each that nobody served.
    book.giveUp({ token: book.token, operation: 1, waitedUs: 50_000_000, count: 100 });
    for (let nth = 0; nth < 100; nth += 1) exact.push(50_000);
    books.set(workerId, book.snapshot());
  }
  await storeSeries(store, books);
  const recorded = await recordedPercentiles(
    { store, catalog, engine, objects },
    testRun("r"),
    never,
  );
  const final = await finalFigures({ store, catalog, engine, objects }, testRun("r"), never);
  const measured = [...books.values()].flat().filter(({ phase }) => phase === "MEASUREMENT");
  const live = figuresOf(measured);
  const all = mergeHistograms([live.response, live.censored]);
  assert.deepEqual(
    [recorded?.recordCount, recorded?.successCount],
    [26_000, 26_000 - live.errors],
    "every success has a record",
  );
  assert.equal(recorded?.latency.get("ALL")?.p95_latency_ms, final.latency?.p95_ms);
  const names = new Set(["ALL", "INSERT", "POINT_LOOKUP", "look", "put"]);
  assert.deepEqual(new Set(recorded?.latency.keys()), names);
  const near = Math.abs((final.latency?.max_ms ?? 0) / 50_000 - 1);
  assert.ok(near < 0.004, "unserved arrivals are the slowest");
  exact.sort((a, b) => a - b);
  for (const [share, name] of [
    [0.5, "p50_ms"],
    [0.9, "p90_ms"],
    [0.95, "p95_ms"],
    [0.99, "p99_ms"],
  ] as const) {
    const lake = final.latency?.[name] ?? 0;
    const histogram = (all.percentileUs(share) ?? 0) / 1000;
    const at = share * (exact.length - 1);
    const [low = 0, high = 0] = [exact[Math.floor(at)], exact[Math.ceil(at)]];
    const isCensored = high === 50_000; // Of those only a histogram is kept.
    const offBy = Math.abs(lake - (low + (high - low) * (at % 1)));
    assert.ok(offBy < (isCensored ? 200 : 1e-6), `${name} is exact`);
    // A histogram's 0.4 %, and what interpolation between neighbours is.
    const off = Math.abs(histogram / lake - 1);
    assert.ok(off < 0.004 + (high - low) / low, `${name}: ${histogram} for ${lake}`);
  }
  assert.equal(final.total_operations, 26_000);
  assert.deepEqual([final.recorded_operations, final.coverage], [26_000, 1]);
  assert.equal(final.failed_operations, live.errors);
  assert.deepEqual(final.errors_by_kind, live.errorsByKind);
  assert.deepEqual(final.error_messages, [
    { error_kind: "deadlock", error_message: "40P01: no", count: live.errors },
  ]);
  assert.deepEqual(
    final.by_operation.map(({ operation, query_kind }) => [operation, query_kind]),
    [
      ["look", "POINT_LOOKUP"],
      ["put", "INSERT"],
    ],
  );
  assert.equal(
    final.by_operation.reduce((sum, each) => sum + each.recorded_operations, 0),
    26_000,
  );
  assert.equal(
    final.heat_map.cells.reduce((sum, { count }) => sum + count, 0),
    26_000 - live.errors,
  );
  assert.ok(final.heat_map.cells.every(({ low_ms, high_ms }) => low_ms < high_ms));
  assert.equal(final.app_overhead, null);
});

test("[QX8] a run without records has counts, and no percentiles", async (t) => {
  const { store, catalog, engine, objects } = await openPlace(t);
  const book = new SeriesBook(operations, "MEASUREMENT");
  book.record(book.token, 0, 1000, 1000, undefined, 1);
  await storeSeries(store, new Map([["worker-0", book.snapshot()]]));
  const final = await finalFigures({ store, catalog, engine, objects }, testRun("r"), never);
  assert.deepEqual(
    [final.total_operations, final.coverage, final.latency, final.heat_map.cells],
    [1, 0, null, []],
  );
});

test("[RV1] [FG3] latencies of the views are of successes; failures are counted beside them", async (t) => {
  const { recorderOf, catalog, engine, objects } = await openPlace(t);
  const recorder = recorderOf("worker-0");
  const failure: OperationFailure = { kind: "timeout", code: "", message: "no answer" };
  for (let nth = 0; nth < 10; nth += 1) {
    recorder.record(executed());
    recorder.record(executed({ failure, endMs: 9_000 }));
  }
  await recorder.finish(60_000);
  const { metrics_by_minute: minutes } = await readRunViews(
    { catalog, engine, objects },
    testRun("r"),
    never,
  );
  const [only] = minutes;
  assert.deepEqual([minutes.length, only?.operations, only?.errors], [1, 20, 10]);
  assert.deepEqual([only?.p99_latency_ms, only?.avg_latency_ms], [5, 5]);
});

test("[QX1] records are read back with counts as numbers", async (t) => {
  const { recorderOf, catalog, engine, objects } = await openPlace(t);
  const recorder = recorderOf("worker-0");
  recorder.record(executed({ rowCount: 3 }));
  await recorder.finish(60_000);
  const page = { limit: 10, offset: 0, order: "start", failedOnly: false } as const;
  const [only] = await readExecutions({ catalog, engine, objects }, testRun("r"), page, never);
  assert.deepEqual([only?.rows_affected, only?.connection_id, only?.success], [3, 1, true]);
});
