/** What happens to a run over time, as rows: its aggregate by the second, the server's polls, the steps of a search. */
import { sql } from "kysely";
import type { LeaseGrant, Store, Tx } from "../../store/index.ts";
import { figuresOf, toMs } from "../core/figures.ts";
import type { StepStats, StepVerdict } from "../core/find-max.ts";
import type { FindMaxProgress } from "../core/find-max-run.ts";
import type { RunUpdate } from "../core/run-update.ts";
import type { ServerPoll } from "../core/target.ts";
import { readSeries, readStepQps } from "./worker-series.ts";

/** The row of the second, and the run's rollup. Live figures, so of live workers. */
export async function writeSecond(
  store: Store,
  update: RunUpdate,
  second: { readonly nowMs: number; readonly step: number; readonly intervalResponse: string },
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
        interval_response: second.intervalResponse,
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
  runId: string,
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

/** `null`: the server was not asked yet. */
export async function readPoll({ db }: Tx, runId: string): Promise<ServerPoll | null> {
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

export interface MeasuredStep extends StepStats {
  readonly ops: number;
  readonly errors: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

/** Of one step alone, merged over all workers. */
export async function readStep(
  tx: Tx,
  runId: string,
  step: number,
  queueDetected: boolean,
): Promise<MeasuredStep> {
  const { ops, errors, response } = figuresOf(
    await readSeries(tx, runId, { phase: "MEASUREMENT", step }),
  );
  return {
    ops,
    errors,
    qps: await readStepQps(tx, runId, step),
    p50Ms: toMs(response.percentileUs(0.5)),
    p95Ms: toMs(response.percentileUs(0.95)) ?? 0,
    p99Ms: toMs(response.percentileUs(0.99)),
    errorRatePct: ops === 0 ? 0 : (errors / ops) * 100,
    queueDetected,
  };
}

/** A step that was judged. In the transaction that stores what is next: once. */
export async function insertStep(
  { db }: Tx,
  runId: string,
  judged: {
    readonly before: FindMaxProgress;
    readonly measured: MeasuredStep;
    readonly verdict: StepVerdict;
    readonly endMs: number;
  },
): Promise<void> {
  const { before, measured, verdict, endMs } = judged;
  const { step, connections } = before.state;
  const isStable = ["STABLE", "BACKOFF", "MIDPOINT", "CONFIRMED"].includes(verdict.outcome);
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
      qps_vs_prior_pct: verdict.qpsVsPriorPct ?? null,
      p95_vs_baseline_pct: verdict.p95VsBaselinePct ?? null,
      queue_detected: measured.queueDetected ? 1 : 0,
      outcome: verdict.outcome,
      stop_reason: isStable ? null : verdict.reason,
      created_at_ms: sql<number>`now_ms()`,
    })
    .execute();
}

export function stepIdOf(runId: string, step: number): string {
  return `${runId}/step-${step}`;
}
