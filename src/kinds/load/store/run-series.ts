/**
 * What happens to a run over time, as rows: its aggregate by the second, the server's polls, the
 * steps of a search.
 */

import { sql } from "kysely";
import type { LeaseGrant, Store, Tx } from "../../../ground/store/index.ts";
import { type Figures, figuresOf, toMs } from "../core/figures.ts";
import type { Rejudged, StepVerdict } from "../core/find-max.ts";
import type { FindMaxProgress } from "../core/find-max-run.ts";
import { measureStep, type StepStats } from "../core/find-max-step.ts";
import type { RunId } from "../core/ids.ts";
import type { RunUpdate } from "../core/run-update.ts";
import type { ServerPoll } from "../core/target.ts";
import { readSeries, readStepSeconds } from "./worker-series.ts";

/** Writes the row of the second and the run's rollup, with figures of live workers. */
export async function writeSecond(
  store: Store,
  update: RunUpdate,
  second: {
    readonly nowMs: number;
    readonly step: number;
    readonly interval: { readonly figures: Figures; readonly seconds: number | null } | undefined;
  },
  lease: LeaseGrant,
): Promise<void> {
  const { run, workers } = update;
  const { aggregate_metrics: totals } = run;
  const isActive = (status: string): boolean =>
    status === "READY" || status === "RUNNING" || status === "DRAINING";
  await store.catalogTransaction(async ({ db }) => {
    await db
      .insertInto("metrics_snapshots")
      .values({
        run_id: run.run_id,
        timestamp_ms: second.nowMs,
        elapsed_seconds: run.elapsed_seconds,
        phase: run.phase,
        step_number: second.step,
        total_queries: totals.total_ops,
        qps: totals.qps,
        error_count: totals.total_errors,
        p50_latency_ms: totals.p50_latency_ms,
        p95_latency_ms: totals.p95_latency_ms,
        p99_latency_ms: totals.p99_latency_ms,
        avg_latency_ms: totals.avg_latency_ms,
        active_connections: totals.active_connections,
        target_connections: totals.target_connections,
        worker_count: workers.length,
        interval_response: second.interval?.figures.response.encode() ?? "",
        interval_seconds: second.interval?.seconds ?? null,
        interval_errors: second.interval?.figures.errors ?? null,
      })
      .onConflict((conflict) => conflict.columns(["run_id", "timestamp_ms"]).doNothing())
      .execute();
    await db
      .updateTable("run_status")
      .set({
        workers_registered: workers.length,
        workers_active: workers.filter(({ status }) => isActive(status)).length,
        workers_completed: workers.filter(({ status }) => status === "COMPLETED").length,
        total_ops: totals.total_ops,
        error_count: totals.total_errors,
        current_qps: totals.qps,
      })
      .where("run_id", "=", run.run_id)
      .where("status", "in", ["RUNNING", "STOPPING", "CANCELLING"])
      .execute();
  }, lease);
}

export async function writePoll(
  store: Store,
  runId: RunId,
  poll: ServerPoll,
  lease: LeaseGrant,
): Promise<void> {
  await store.catalogTransaction(async ({ db }) => {
    const run = await db
      .selectFrom("run_status")
      .select(["start_time_ms as start", sql<number>`now_ms()`.as("now")])
      .where("run_id", "=", runId)
      .executeTakeFirst();
    if (run === undefined) return;
    await db
      .insertInto("warehouse_poll_snapshots")
      .values({
        snapshot_id: `${runId}/${run.now}`,
        run_id: runId,
        timestamp_ms: run.now,
        elapsed_seconds: run.start === null ? null : (run.now - run.start) / 1000,
        warehouse_name: poll.name,
        started_clusters: poll.startedClusters,
        running: poll.running,
        queued: poll.queued,
        min_cluster_count: poll.minClusterCount,
        max_cluster_count: poll.maxClusterCount,
        scaling_policy: poll.scalingPolicy,
        raw_result: JSON.stringify(poll.raw),
        created_at_ms: run.now,
      })
      .onConflict((conflict) => conflict.column("snapshot_id").doNothing())
      .execute();
  }, lease);
}

/** Null before the first poll. */
export async function readPoll({ db }: Tx, runId: RunId): Promise<ServerPoll | null> {
  const row = await db
    .selectFrom("warehouse_poll_snapshots")
    .selectAll()
    .where("run_id", "=", runId)
    .orderBy("timestamp_ms", "desc")
    .limit(1)
    .executeTakeFirst();
  if (row === undefined) return null;
  return {
    name: row.warehouse_name,
    startedClusters: row.started_clusters,
    running: row.running,
    queued: row.queued,
    minClusterCount: row.min_cluster_count,
    maxClusterCount: row.max_cluster_count,
    scalingPolicy: row.scaling_policy,
    raw: JSON.parse(row.raw_result) as Record<string, unknown>,
  };
}

export interface MeasuredStep {
  /** Figures of this step alone. */
  readonly own: StepStats & {
    readonly errors: number;
    readonly p50Ms: number | null;
    readonly p99Ms: number | null;
  };
  /** Figures of all attempts with the same number of connections, including this one. */
  readonly all: StepStats;
}

/** `steps`: the attempts with as many connections, the one that ended last. */
export async function readStep(
  tx: Tx,
  runId: RunId,
  steps: readonly number[],
  queueDetected: boolean,
): Promise<MeasuredStep> {
  const before = steps.slice(0, -1);
  const step = steps.at(-1) ?? 0;
  const figures = figuresOf(await readSeries(tx, runId, { phase: "MEASUREMENT", step }));
  const seconds = await readStepSeconds(tx, runId, step);
  const { ops, errors, response } = figures;
  const own = measureStep([seconds], {
    ops,
    errors,
    response,
    queuedShare: queueDetected ? 1 : 0,
  });
  const attempts = [];
  const series = await readSeries(tx, runId, { phase: "MEASUREMENT" });
  for (const each of before) attempts.push(await readStepSeconds(tx, runId, each));
  const queued = (await readQueuedSteps(tx, runId, before)) + (queueDetected ? 1 : 0);
  const all = measureStep([...attempts, seconds], {
    ...figuresOf(series.filter((each) => steps.includes(each.step))),
    queuedShare: queued / steps.length,
  });
  return {
    own: {
      ...own,
      errors,
      p50Ms: toMs(response.percentileUs(0.5)),
      p99Ms: toMs(response.percentileUs(0.99)),
    },
    all,
  };
}

async function readQueuedSteps(
  { db }: Tx,
  runId: RunId,
  steps: readonly number[],
): Promise<number> {
  if (steps.length === 0) return 0;
  const rows = await db
    .selectFrom("find_max_step_history")
    .select("step_number")
    .where("run_id", "=", runId)
    .where("step_number", "in", steps)
    .where("queue_detected", "=", 1)
    .execute();
  return rows.length;
}

/** A step that was judged, and what it changes about earlier ones (FM10). */
export interface JudgedStep {
  readonly before: FindMaxProgress;
  readonly measured: MeasuredStep;
  readonly verdict: StepVerdict;
  readonly rejudged: readonly Rejudged[];
  readonly endMs: number;
}

/** Runs in the transaction that stores the next step, so that it happens once. */
export async function insertStep({ db }: Tx, runId: RunId, judged: JudgedStep): Promise<void> {
  const { before, verdict, endMs } = judged;
  const { own: measured } = judged.measured;
  const { step, connections } = before.state;
  await db
    .insertInto("find_max_step_history")
    .values({
      step_id: stepIdOf(runId, step),
      run_id: runId,
      step_number: step,
      total_target_connections: connections,
      step_start_time_ms: before.sinceMs,
      step_end_time_ms: endMs,
      step_duration_seconds: (endMs - before.sinceMs) / 1000,
      total_queries: measured.ops,
      qps: measured.qps,
      p50_latency_ms: measured.p50Ms,
      p95_latency_ms: measured.p95Ms,
      p99_latency_ms: measured.p99Ms,
      error_count: measured.errors,
      error_rate: measured.errorRatePct / 100,
      queue_detected: measured.queuedShare > 0 ? 1 : 0,
      ...verdictColumns(verdict),
      qps_low: measured.qpsLow,
      qps_high: measured.qpsHigh,
      seconds_discarded: measured.secondsDiscarded,
      created_at_ms: sql<number>`now_ms()`,
    })
    .execute();
  for (const each of judged.rejudged) {
    await db
      .updateTable("find_max_step_history")
      .set(verdictColumns(each.verdict))
      .where("step_id", "=", stepIdOf(runId, each.step))
      .execute();
  }
}

function verdictColumns(verdict: StepVerdict) {
  return {
    qps_vs_prior_pct: verdict.qpsVsPriorPct ?? null,
    p95_vs_baseline_pct: verdict.p95VsBaselinePct ?? null,
    outcome: verdict.outcome,
    stop_reason: verdict.reason === "" ? null : verdict.reason,
  };
}

export function stepIdOf(runId: RunId, step: number): string {
  return `${runId}/step-${step}`;
}
