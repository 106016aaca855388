/**
 * The contract of RUN_UPDATE: the specification's own example, and what its fields mean to each
 * other. Every update that a test sees is held against it.
 */
import assert from "node:assert/strict";
import { runUpdateSchema } from "../../src/kinds/load/core/run-update-schema.ts";
import type { RunUpdate } from "../../src/kinds/load/index.ts";

/**
 * As the specification prints it: each path must be there, with a value of that type; `nullable`
 * says where null may stand.
 */
const example = {
  test_id: "uuid",
  status: "RUNNING",
  phase: "MEASUREMENT",
  timestamp: "2026-01-23T10:15:30.123Z",
  run: {
    run_id: "uuid",
    status: "RUNNING",
    phase: "MEASUREMENT",
    worker_count: 2,
    elapsed_seconds: 125.5,
    timing: { elapsed_display_seconds: 125.5 },
    aggregate_metrics: {
      total_ops: 125000,
      qps: 1250.5,
      p50_latency_ms: 12.5,
      p95_latency_ms: 48.3,
      p99_latency_ms: 98.7,
      avg_latency_ms: 18.3,
      error_rate: 0.00004,
      total_errors: 5,
      active_connections: 50,
      target_connections: 50,
      read_count: 100000,
      write_count: 25000,
    },
  },
  timing: { elapsed_display_seconds: 125.5 },
  latency_aggregation_method: "merged_histogram",
  workers: [
    {
      worker_id: "worker-0",
      worker_group_id: 0,
      status: "RUNNING",
      phase: "MEASUREMENT",
      health: "HEALTHY",
      last_heartbeat: "2026-01-23T10:15:28.000Z",
      last_heartbeat_ago_s: 2,
      metrics: {
        qps: 625.2,
        p95_latency_ms: 42.1,
        error_count: 2,
        active_connections: 25,
        target_connections: 25,
      },
    },
  ],
  ops: { total: 125000, current_per_sec: 1250.5 },
  operations: { reads: 100000, writes: 25000 },
  latency: { p50: 12.5, p95: 45.2, p99: 98.7, avg: 18.3 },
  errors: { count: 5, rate: 0.00004 },
  connections: { active: 50, target: 50 },
  warehouse: { name: "BENCHMARK_WH", started_clusters: 2, running: 45, queued: 0 },
  find_max: {
    current_step: 3,
    target_workers: 35,
    baseline_p95_ms: 42.5,
    current_p95_ms: 48.2,
    p95_vs_baseline_pct: 13.4,
    qps: 1250,
    qps_vs_prior_pct: 2.1,
    error_rate: 0.001,
    queue_detected: false,
    status: "STEPPING",
    last_updated: "2026-01-23T10:15:30Z",
  },
  custom_metrics: { app_ops_breakdown: {}, sf_bench: {}, resources: {} },
  cancellation_reason: "User requested cancellation",
};

/** What is not known yet, or does not apply. */
const nullable =
  /_ms$|_pct$|^latency\.|^find_max(\.qps|\.error_rate)?$|^warehouse|_method$|_reason$/;

/** Of one run's viewer: each update is held against the contract and the one before. */
export class UpdateContract {
  readonly updates: RunUpdate[] = [];

  add(message: unknown): void {
    const { event, data } = message as { readonly event: string; readonly data: RunUpdate };
    assert.equal(event, "RUN_UPDATE");
    runUpdateSchema.parse(data);
    checkShape(example, data, "");
    checkMeaning(data);
    const before = this.updates.at(-1);
    if (before !== undefined) checkOrder(before, data);
    this.updates.push(data);
  }

  /** The paths of the example that were never anything but null. */
  neverKnown(): readonly string[] {
    const paths = leavesOf(example, "");
    return paths.filter((path) => !this.updates.some((update) => isKnown(update, path)));
  }
}

function checkShape(wanted: unknown, found: unknown, path: string): void {
  if (found === null && nullable.test(path)) return;
  if (Array.isArray(wanted)) {
    assert.ok(Array.isArray(found), `${path} is a list`);
    for (const each of found) checkShape(wanted[0], each, path);
    return;
  }
  assert.equal(typeof found, typeof wanted, `${path}: ${JSON.stringify(found)}`);
  if (typeof wanted !== "object" || wanted === null) return;
  for (const [name, value] of Object.entries(wanted)) {
    assert.ok(Object.hasOwn(found as object, name), `${path}.${name} is there`);
    checkShape(
      value,
      (found as Record<string, unknown>)[name],
      path === "" ? name : `${path}.${name}`,
    );
  }
}

/** RU1 and what the fields are by their names. */
function checkMeaning(update: RunUpdate): void {
  const { run, timing, ops, operations, latency, errors, connections, workers } = update;
  const { aggregate_metrics: all } = run;
  assert.deepEqual(
    [run.run_id, run.status, run.phase],
    [update.test_id, update.status, update.phase],
  );
  const { elapsed_display_seconds: elapsed } = timing;
  assert.deepEqual([run.elapsed_seconds, run.timing.elapsed_display_seconds], [elapsed, elapsed]);
  assert.deepEqual(
    [ops, operations, latency, errors, connections],
    [
      { total: all.total_ops, current_per_sec: all.qps },
      { reads: all.read_count, writes: all.write_count },
      {
        p50: all.p50_latency_ms,
        p95: all.p95_latency_ms,
        p99: all.p99_latency_ms,
        avg: all.avg_latency_ms,
      },
      { count: all.total_errors, rate: all.error_rate },
      { active: all.active_connections, target: all.target_connections },
    ],
  );
  assert.equal(run.worker_count, workers.length);
  assert.equal(all.read_count + all.write_count, all.total_ops);
  near(all.error_rate, all.total_ops === 0 ? 0 : all.total_errors / all.total_ops, "error_rate");
  assert.equal(sum(Object.values(all.errors_by_kind)), all.total_errors);
  const ranks = [all.p50_latency_ms, all.p95_latency_ms, all.p99_latency_ms].map(
    (each) => each ?? 0,
  );
  assert.deepEqual(
    ranks,
    ranks.toSorted((left, right) => left - right),
  );
  assert.equal(
    all.p50_latency_ms === null,
    all.total_ops === 0,
    "figures where there are operations",
  );
  const breakdown = Object.values(update.custom_metrics.app_ops_breakdown);
  assert.equal(sum(breakdown.map((each) => each.ops)), all.total_ops);
  assert.equal(sum(breakdown.map((each) => each.errors)), all.total_errors);
  const nowMs = Date.parse(update.timestamp);
  for (const worker of workers) {
    assert.match(worker.worker_id, /^worker-\d+$/);
    assert.equal(worker.worker_id, `worker-${worker.worker_group_id}`);
    const agoMs = Math.max(0, nowMs - Date.parse(worker.last_heartbeat));
    assert.equal(worker.last_heartbeat_ago_s, Math.floor(agoMs / 1000));
  }
  if (workers.some(({ health }) => health === "DEAD")) return; // RU3: they are not in the sums.
  const isLive = !["COMPLETED", "FAILED", "CANCELLED"].includes(update.status);
  if (isLive) near(all.qps, sum(workers.map(({ metrics }) => metrics.qps)), "qps");
  assert.equal(all.total_ops, sum(workers.map(({ metrics }) => metrics.total_ops)));
  assert.equal(all.total_errors, sum(workers.map(({ metrics }) => metrics.error_count)));
  assert.equal(
    all.target_connections,
    sum(workers.map(({ metrics }) => metrics.target_connections)),
  );
}

function checkOrder(before: RunUpdate, after: RunUpdate): void {
  const elapsed = [before, after].map(({ timing }) => timing.elapsed_display_seconds);
  assert.ok((elapsed[0] ?? 0) <= (elapsed[1] ?? 0), `${elapsed}: a timer does not go back`);
  assert.ok(before.timestamp <= after.timestamp);
  if (before.run.figures_phase === after.run.figures_phase) {
    // LW20: at a stop workers take back what they began after it.
    const isStopped = after.status !== "RUNNING";
    assert.ok(isStopped || before.ops.total <= after.ops.total, "counts do not go back");
  } else if (before.ops.total > 0) {
    assert.equal(after.run.figures_phase, "MEASUREMENT", "RU2");
  }
  const steps = [before, after].map(({ find_max: search }) => search?.current_step ?? 0);
  assert.ok((steps[0] ?? 0) <= (steps[1] ?? 0));
}

function leavesOf(value: unknown, path: string): readonly string[] {
  if (Array.isArray(value)) return leavesOf(value[0], `${path}.0`);
  if (typeof value !== "object" || value === null || Object.keys(value).length === 0) return [path];
  return Object.entries(value).flatMap(([name, each]) =>
    leavesOf(each, path === "" ? name : `${path}.${name}`),
  );
}

function isKnown(update: RunUpdate, path: string): boolean {
  let value: unknown = update;
  for (const name of path.split(".")) value = (value as Record<string, unknown> | null)?.[name];
  return value !== null && value !== undefined;
}

function near(found: number, wanted: number, what: string): void {
  assert.ok(Math.abs(found - wanted) < 0.01, `${what}: ${found}, not ${wanted}`);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
