import assert from "node:assert/strict";
import { test } from "node:test";
import { testRun } from "../testing/ids.ts";
import { reportOf } from "../testing/run-report.ts";
import { Histogram } from "./histogram.ts";
import { workerIdOf } from "./ids.ts";
import { buildRunUpdate, type RunUpdateFacts, type RunUpdateWorker } from "./run-update.ts";
import { SeriesBook } from "./series-book.ts";

const nowMs = 1_000_000;

function workerOf(group: number, changes: Partial<RunUpdateWorker> = {}): RunUpdateWorker {
  const book = new SeriesBook([{ name: "look", kind: "POINT_LOOKUP" }], "WARMUP");
  book.record(book.token, 0, 1_000, 1_000, undefined, 1);
  book.enter("MEASUREMENT", 0);
  for (let count = 0; count < 10 * (group + 1); count += 1) {
    book.record(book.token, 0, 2_000, 2_000, undefined, 1);
  }
  const workerId = workerIdOf(group);
  const health = {
    event_loop_delay_ms_p99: 1,
    event_loop_delay_ms_mean: 0,
    schedule_lag_ms_p95: 0,
    latency_ms_p50: 10,
    latency_ms_p95: 20,
    schedule_lag_ms_p99: 0,
    cpu_percent: 10 * (group + 1),
    memory_percent: 5,
    rss_bytes: 1,
    waiting: 0,
    dropped: 0,
    unsent: 0,
  };
  return {
    workerId,
    groupId: group,
    status: "RUNNING",
    phase: "MEASUREMENT",
    hostName: "here",
    lastHeartbeatMs: nowMs - 1_500,
    lastError: null,
    targetConnections: 4,
    snapshot: {
      run_id: "run",
      test_id: `run-${group}`,
      worker_id: workerId,
      worker_group_id: group,
      sequence: 7,
      status: "RUNNING",
      phase: "MEASUREMENT",
      step: 0,
      elapsed_seconds: 10,
      target_connections: 4,
      target_qps: null,
      active_connections: 4,
      qps: 100,
      health,
      answering: { measured_ms: 10_000, silences: "" },
      error_examples: {},
      series: book.snapshot(),
      step_response: null,
    },
    snapshotAtMs: nowMs - 500,
    ...changes,
  };
}

function factsOf(changes: Partial<RunUpdateFacts> = {}): RunUpdateFacts {
  return {
    runId: testRun("run"),
    status: "RUNNING",
    phase: "MEASUREMENT",
    nowMs,
    startTimeMs: nowMs - 20_000,
    warmupStartTimeMs: nowMs - 15_000,
    warmupEndTimeMs: nowMs - 10_000,
    stopTimeMs: null,
    endTimeMs: null,
    warmupSeconds: 5,
    durationSeconds: 60,
    expectedWorkers: 2,
    targetQps: null,
    workers: [workerOf(0), workerOf(1)],
    poll: null,
    findMax: null,
    cancellationReason: null,
    enrichmentStatus: null,
    warnings: [],
    logs: [],
    record: undefined,
    ...changes,
  };
}

test("[RU2] live figures are WARMUP's while it lasts, and none of it afterwards", () => {
  const warm = buildRunUpdate(factsOf({ phase: "WARMUP", warmupEndTimeMs: null }));
  assert.deepEqual([warm.run.figures_phase, warm.ops.total, warm.latency.p50], ["WARMUP", 2, 1]);
  const measured = buildRunUpdate(factsOf());
  assert.deepEqual([measured.run.figures_phase, measured.ops.total], ["MEASUREMENT", 30]);
});

test("[RU3] DEAD: no heartbeat for 60 s; out of the live figures, in those of the end", () => {
  const ages = [29_999, 30_000, 59_999, 60_000];
  const workers = ages.map((age, group) => workerOf(group, { lastHeartbeatMs: nowMs - age }));
  const live = buildRunUpdate(factsOf({ workers, expectedWorkers: 4 }));
  assert.deepEqual(
    live.workers.map(({ health }) => health),
    ["HEALTHY", "STALE", "STALE", "DEAD"],
  );
  assert.deepEqual([live.ops.total, live.ops.current_per_sec], [10 + 20 + 30, 300]);
  assert.equal(live.custom_metrics.resources.cpu_percent_peak, 30);
  const ended = buildRunUpdate(factsOf({ workers, status: "COMPLETED", endTimeMs: nowMs }));
  assert.equal(ended.ops.total, 10 + 20 + 30 + 40);
});

test("[RU4] merged percentiles where there are several workers, and the slowest worker's beside", () => {
  assert.equal(buildRunUpdate(factsOf()).latency_aggregation_method, "merged_histogram");
  const one = buildRunUpdate(factsOf({ expectedWorkers: 1, workers: [workerOf(0)] }));
  assert.equal(one.latency_aggregation_method, null);
  const { slowest_worker: slowest, p95_latency_ms: p95 } = one.run.aggregate_metrics;
  assert.equal(slowest?.p95_latency_ms, p95);
});

test("[RU4] [RU7] the only worker of a run that has ended has the latencies of the final record", () => {
  const record = { p95_latency_ms: 14.1755, p99_latency_ms: 20, at_least: [], operations: [] };
  const ended = buildRunUpdate(
    factsOf({
      expectedWorkers: 1,
      workers: [workerOf(0)],
      status: "COMPLETED",
      endTimeMs: nowMs,
      record: record as unknown as NonNullable<RunUpdateFacts["record"]>,
    }),
  );
  const { slowest_worker: slowest, p95_latency_ms: p95 } = ended.run.aggregate_metrics;
  assert.deepEqual([slowest, p95], [{ p95_latency_ms: 14.1755, p99_latency_ms: 20 }, 14.1755]);
});

test("[RU5] elapsed time is the store's, of the whole run and of its phase; it ends with the run", () => {
  const cases: readonly (readonly [Partial<RunUpdateFacts>, number, number, number | null])[] = [
    [{ status: "PREPARED", phase: "", startTimeMs: null }, 0, 0, null],
    [{ phase: "PREPARING" }, 20, 20, null],
    [{ phase: "WARMUP" }, 20, 15, 5],
    [{}, 20, 10, 60],
    [{ phase: "COOLDOWN", stopTimeMs: nowMs - 2_000 }, 20, 2, null],
    [{ status: "COMPLETED", phase: "PROCESSING", endTimeMs: nowMs - 5_000 }, 15, 0, null],
  ];
  for (const [changes, elapsed, phase, duration] of cases) {
    const { timing } = buildRunUpdate(factsOf(changes));
    assert.deepEqual(timing, {
      elapsed_display_seconds: elapsed,
      phase_elapsed_seconds: phase,
      phase_duration_seconds: duration,
    });
  }
});

test("[RU6] COMPLETED while enrichment is pending or under way is shown as PROCESSING", () => {
  for (const [enrichmentStatus, phase] of [
    ["PENDING", "PROCESSING"],
    ["RUNNING", "PROCESSING"],
    ["COMPLETED", "COOLDOWN"],
    ["SKIPPED", "COOLDOWN"],
  ] as const) {
    const ended = { status: "COMPLETED", phase: "COOLDOWN", endTimeMs: nowMs } as const;
    const update = buildRunUpdate(factsOf({ ...ended, enrichmentStatus }));
    assert.deepEqual([update.phase, update.run.phase], [phase, phase]);
  }
});

test("[RU7] what has ended shows its final record; what goes on shows who waits", () => {
  const [first] = factsOf().workers;
  assert.ok(first?.snapshot !== undefined);
  const series = first.snapshot.series.map((each) => {
    const waiting = new Histogram();
    waiting.recordMany(3_000_000, 7);
    return { ...each, unserved: 7, censored: waiting.encode() };
  });
  const waiting = { ...first, snapshot: { ...first.snapshot, series } };
  const live = buildRunUpdate(factsOf({ workers: [waiting] }));
  const { aggregate_metrics: now } = live.run;
  assert.ok((now.unserved ?? 0) > 0 && (now.unserved ?? 0) % 7 === 0);
  assert.ok((now.max_latency_ms ?? 0) >= 3_000);
  assert.deepEqual([now.percentiles_valid, live.verdict], [false, null]);
  const { record } = reportOf();
  const ended = buildRunUpdate(factsOf({ status: "COMPLETED", record }));
  const { aggregate_metrics: final } = ended.run;
  assert.deepEqual(
    [final.p95_latency_ms, final.min_latency_ms, final.availability_pct, ended.latency.p95],
    [record.p95_latency_ms, record.min_latency_ms, 100, record.p95_latency_ms],
  );
  assert.equal(ended.verdict?.verdict, "FAILED");
  assert.equal(
    ended.custom_metrics.app_ops_breakdown.pay?.p99_latency_ms,
    record.operations.find(({ operation }) => operation === "pay")?.p99_latency_ms,
  );
});
