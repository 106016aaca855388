/** What workers measured, in the store: the newest of each series, and a row for each second. */
import { sql } from "kysely";
import type { LoadTables, Tx } from "../../store/index.ts";
import { figuresOf, toMs } from "../core/figures.ts";
import { stepRate } from "../core/find-max.ts";
import type { QueryKind } from "../core/operation.ts";
import type { RunPhase, WorkerStatus } from "../core/run-state.ts";
import type { GeneratorHealth, SeriesSnapshot, WorkerSnapshot } from "../core/worker-snapshot.ts";
import { parsed } from "./run-rows.ts";

export interface StoredSeries extends SeriesSnapshot {
  readonly workerId: string;
}

/** CT3: what is not newer changes nothing. */
export async function writeWorkerSnapshot(tx: Tx, snapshot: WorkerSnapshot): Promise<void> {
  await insertSecond(tx, snapshot);
  for (const series of await changedSeries(tx, snapshot)) await putSeries(tx, snapshot, series);
}

/** A step that is over does not change any more: only its key is read. */
async function changedSeries(
  { db }: Tx,
  { run_id: runId, worker_id: workerId, series }: WorkerSnapshot,
): Promise<readonly SeriesSnapshot[]> {
  const rows = await db
    .selectFrom("worker_series")
    .select(["operation", "phase", "step_number", "ops"])
    .where("run_id", "=", runId)
    .where("worker_id", "=", workerId)
    .execute();
  const known = new Map(
    rows.map((row) => [`${row.phase}/${row.step_number}/${row.operation}`, row.ops]),
  );
  return series.filter(
    ({ phase, step, operation, ops }) => known.get(`${phase}/${step}/${operation}`) !== ops,
  );
}

async function putSeries(
  { db }: Tx,
  { run_id: runId, worker_id: workerId, sequence }: WorkerSnapshot,
  series: SeriesSnapshot,
): Promise<void> {
  const figures = {
    sequence,
    ops: series.ops,
    row_count: series.rows,
    errors: JSON.stringify(series.errors),
    response: series.response,
    service: series.service,
  };
  await db
    .insertInto("worker_series")
    .values({
      run_id: runId,
      worker_id: workerId,
      operation: series.operation,
      query_kind: series.kind,
      phase: series.phase,
      step_number: series.step,
      ...figures,
    })
    .onConflict((conflict) =>
      conflict
        .columns(["run_id", "worker_id", "operation", "phase", "step_number"])
        .doUpdateSet(figures)
        .where("worker_series.sequence", "<", sequence),
    )
    .execute();
}

async function insertSecond({ db }: Tx, snapshot: WorkerSnapshot): Promise<void> {
  const own = snapshot.series.filter(
    ({ phase, step }) => phase === snapshot.phase && step === snapshot.step,
  );
  const { ops, reads, writes, errors, response } = figuresOf(own);
  await db
    .insertInto("worker_metrics_snapshots")
    .values({
      run_id: snapshot.run_id,
      worker_id: snapshot.worker_id,
      sequence: snapshot.sequence,
      test_id: snapshot.test_id,
      worker_group_id: snapshot.worker_group_id,
      timestamp_ms: sql<number>`now_ms()`,
      elapsed_seconds: snapshot.elapsed_seconds,
      phase: snapshot.phase,
      step_number: snapshot.step,
      total_queries: ops,
      qps: snapshot.qps,
      read_count: reads,
      write_count: writes,
      error_count: errors,
      p50_latency_ms: toMs(response.percentileUs(0.5)),
      p95_latency_ms: toMs(response.percentileUs(0.95)),
      p99_latency_ms: toMs(response.percentileUs(0.99)),
      avg_latency_ms: toMs(response.meanUs),
      min_latency_ms: toMs(response.minUs),
      max_latency_ms: toMs(response.maxUs),
      active_connections: snapshot.active_connections,
      target_connections: snapshot.target_connections,
      cpu_percent: snapshot.health.cpu_percent,
      memory_percent: snapshot.health.memory_percent,
      custom_metrics: JSON.stringify({
        health: snapshot.health,
        status: snapshot.status,
        target_qps: snapshot.target_qps,
      } satisfies CustomMetrics),
    })
    .onConflict((conflict) => conflict.columns(["run_id", "worker_id", "sequence"]).doNothing())
    .execute();
}

interface CustomMetrics {
  readonly health: GeneratorHealth;
  readonly status: WorkerStatus;
  readonly target_qps: number | null;
}

/** `step`: only of this one, and of MEASUREMENT. */
export async function readSeries(
  { db }: Tx,
  runId: string,
  only: { readonly phase?: "MEASUREMENT"; readonly step?: number } = {},
): Promise<readonly StoredSeries[]> {
  let query = db.selectFrom("worker_series").selectAll().where("run_id", "=", runId);
  if (only.phase !== undefined) query = query.where("phase", "=", only.phase);
  if (only.step !== undefined) query = query.where("step_number", "=", only.step);
  const rows = await query.orderBy("worker_id").orderBy("operation").execute();
  return rows.map((row) => ({
    workerId: row.worker_id,
    operation: row.operation,
    kind: row.query_kind as QueryKind,
    phase: row.phase as SeriesSnapshot["phase"],
    step: row.step_number,
    ops: row.ops,
    rows: row.row_count,
    errors: JSON.parse(row.errors) as Readonly<Record<string, number>>,
    response: row.response,
    service: row.service,
  }));
}

/** Each worker's newest, as it sent it, and when the store got it. */
export async function readSnapshots(
  tx: Tx,
  runId: string,
  workers: readonly { readonly workerId: string }[],
): Promise<ReadonlyMap<string, { readonly snapshot: WorkerSnapshot; readonly atMs: number }>> {
  const rows: LoadTables["worker_metrics_snapshots"][] = [];
  // One look in the index for each: there is a row for every second of the run.
  for (const { workerId } of workers) {
    const newest = await tx.db
      .selectFrom("worker_metrics_snapshots")
      .selectAll()
      .where("run_id", "=", runId)
      .where("worker_id", "=", workerId)
      .orderBy("sequence", "desc")
      .limit(1)
      .executeTakeFirst();
    if (newest !== undefined) rows.push(newest);
  }
  const series = Map.groupBy(await readSeries(tx, runId), ({ workerId }) => workerId);
  return new Map(
    rows.map((row) => {
      const custom = parsed<CustomMetrics>(row.custom_metrics) as CustomMetrics;
      const snapshot: WorkerSnapshot = {
        run_id: row.run_id,
        test_id: row.test_id,
        worker_id: row.worker_id,
        worker_group_id: row.worker_group_id,
        sequence: row.sequence,
        status: custom.status,
        phase: row.phase as RunPhase,
        step: row.step_number,
        elapsed_seconds: row.elapsed_seconds,
        target_connections: row.target_connections,
        target_qps: custom.target_qps,
        active_connections: row.active_connections,
        qps: row.qps,
        health: custom.health,
        series: series.get(row.worker_id) ?? [],
      };
      return [row.worker_id, { snapshot, atMs: row.timestamp_ms }] as const;
    }),
  );
}

/** Processes whose name another took over (SW1): they have figures, and no heartbeat. */
export async function readSuperseded(
  { db }: Tx,
  runId: string,
): Promise<readonly { readonly workerId: string; readonly groupId: number }[]> {
  const rows = await db
    .selectFrom("worker_metrics_snapshots")
    .select(["worker_id", "worker_group_id"])
    .distinct()
    .where("run_id", "=", runId)
    .where("worker_id", "like", "%~%")
    .orderBy("worker_id")
    .execute();
  return rows.map(({ worker_id, worker_group_id }) => ({
    workerId: worker_id,
    groupId: worker_group_id,
  }));
}

/** One for each second and worker of MEASUREMENT. */
export async function readHealth(
  { db }: Tx,
  runId: string,
): Promise<readonly { readonly workerId: string; readonly health: GeneratorHealth }[]> {
  const rows = await db
    .selectFrom("worker_metrics_snapshots")
    .select(["worker_id", "custom_metrics"])
    .where("run_id", "=", runId)
    .where("phase", "=", "MEASUREMENT")
    .orderBy("worker_id")
    .orderBy("sequence")
    .execute();
  return rows.map((row) => ({
    workerId: row.worker_id,
    health: (JSON.parse(row.custom_metrics) as CustomMetrics).health,
  }));
}

/** FM2: of each worker, summed. Seconds of different workers need not be aligned for it. */
export async function readStepQps({ db }: Tx, runId: string, step: number): Promise<number> {
  const rows = await db
    .selectFrom("worker_metrics_snapshots")
    .select(["worker_id", "qps"])
    .where("run_id", "=", runId)
    .where("phase", "=", "MEASUREMENT")
    .where("step_number", "=", step)
    .orderBy("worker_id")
    .orderBy("sequence")
    .execute();
  const byWorker = Map.groupBy(rows, ({ worker_id: id }) => id);
  let qps = 0;
  // A worker's first second may have part of the second before in it.
  for (const own of byWorker.values()) qps += stepRate(own.map((row) => row.qps).slice(1));
  return qps;
}
