/** What workers measured, in the store: the newest of each series, and a row for each second. */

import { sql } from "kysely";
import type { Tx } from "../../../ground/store/index.ts";
import { figuresOf, toMs } from "../core/figures.ts";
import type { StepSecond } from "../core/find-max-step.ts";
import { generatorBoundReason } from "../core/generator-health.ts";
import { Histogram, mergeHistograms } from "../core/histogram.ts";
import type { LoadWorkerId, RunId } from "../core/ids.ts";
import type { QueryKind } from "../core/operation.ts";
import type { RunPhase, WorkerStatus } from "../core/run-state.ts";
import type { LoadTables } from "../core/tables.ts";
import type {
  Answering,
  GeneratorHealth,
  SeriesSnapshot,
  WorkerSnapshot,
} from "../core/worker-snapshot.ts";

export interface StoredSeries extends SeriesSnapshot {
  readonly workerId: LoadWorkerId;
}

/** A snapshot that is not newer changes nothing (CT3). */
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
    .select(["operation", "phase", "step_number", "ops", "unserved"])
    .where("run_id", "=", runId)
    .where("worker_id", "=", workerId)
    .execute();
  const known = new Map(
    rows.map((row) => [
      `${row.phase}/${row.step_number}/${row.operation}`,
      `${row.ops}/${row.unserved}`,
    ]),
  );
  return series.filter(
    ({ phase, step, operation, ops, unserved }) =>
      unserved > 0 || known.get(`${phase}/${step}/${operation}`) !== `${ops}/${unserved}`,
  );
}

async function putSeries(
  { db }: Tx,
  {
    run_id: runId,
    worker_id: workerId,
    sequence,
  }: Pick<WorkerSnapshot, "run_id" | "worker_id" | "sequence">,
  series: SeriesSnapshot,
): Promise<void> {
  const figures = {
    sequence,
    ops: series.ops,
    row_count: series.rows,
    errors: JSON.stringify(series.errors),
    response: series.response,
    service: series.service,
    failed: series.failed,
    unserved: series.unserved,
    censored: series.censored,
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
        step_response: snapshot.step_response,
        answering: snapshot.answering,
        error_examples: snapshot.error_examples,
      } satisfies CustomMetrics),
    })
    .onConflict((conflict) => conflict.columns(["run_id", "worker_id", "sequence"]).doNothing())
    .execute();
}

/** Adds the arrivals of MEASUREMENT that a lost worker cannot report, with the time they waited. */
export async function addUnserved(
  tx: Tx,
  { runId, workerId }: { readonly runId: RunId; readonly workerId: LoadWorkerId },
  { name, kind }: { readonly name: string; readonly kind: QueryKind },
  waits: Histogram,
): Promise<void> {
  const series = await readSeries(tx, runId, { phase: "MEASUREMENT", step: 0 });
  const none = new Histogram().encode();
  const empty = { ops: 0, rows: 0, errors: {}, response: none, service: none, failed: none };
  const found = series.find((each) => each.workerId === workerId && each.operation === name);
  const key = { operation: name, kind, phase: "MEASUREMENT", step: 0 } as const;
  const before = found ?? { ...key, ...empty, unserved: 0, censored: none };
  const told = Histogram.read(before.censored);
  await putSeries(
    tx,
    { run_id: runId, worker_id: workerId, sequence: sequenceLast },
    {
      ...before,
      unserved: before.unserved + waits.count,
      censored: mergeHistograms([told, waits]).encode(),
    },
  );
}

/** No snapshot of the worker comes after it. */
const sequenceLast = Number.MAX_SAFE_INTEGER;

/** When the store got a worker's last figures of MEASUREMENT. Undefined when there are none. */
export async function lastFiguresMs(
  { db }: Tx,
  runId: RunId,
  workerId: LoadWorkerId,
): Promise<number | undefined> {
  const row = await db
    .selectFrom("worker_metrics_snapshots")
    .select("timestamp_ms")
    .where("run_id", "=", runId)
    .where("worker_id", "=", workerId)
    .where("phase", "=", "MEASUREMENT")
    .orderBy("sequence", "desc")
    .limit(1)
    .executeTakeFirst();
  return row?.timestamp_ms;
}

interface CustomMetrics {
  readonly health: GeneratorHealth;
  readonly status: WorkerStatus;
  readonly target_qps: number | null;
  /** Rows of older versions have none. */
  readonly step_response?: string | null;
  readonly answering: Answering;
  readonly error_examples: Readonly<Record<string, string>>;
}

/** Rows of an earlier version have less in them. */
function customOf(text: string): CustomMetrics {
  const custom = JSON.parse(text) as Partial<CustomMetrics> & Pick<CustomMetrics, "health">;
  return {
    status: "COMPLETED",
    target_qps: null,
    answering: { measured_ms: 0, silences: "" },
    error_examples: {},
    ...custom,
  };
}

/** With `step`, only that step of MEASUREMENT. */
export async function readSeries(
  { db }: Tx,
  runId: RunId,
  only: { readonly phase?: "MEASUREMENT"; readonly step?: number } = {},
): Promise<readonly StoredSeries[]> {
  let query = db.selectFrom("worker_series").selectAll().where("run_id", "=", runId);
  if (only.phase !== undefined) query = query.where("phase", "=", only.phase);
  if (only.step !== undefined) query = query.where("step_number", "=", only.step);
  const rows = await query.orderBy("worker_id").orderBy("operation").execute();
  return rows.map((row) => ({
    workerId: row.worker_id as LoadWorkerId,
    operation: row.operation,
    kind: row.query_kind as QueryKind,
    phase: row.phase as SeriesSnapshot["phase"],
    step: row.step_number,
    ops: row.ops,
    rows: row.row_count,
    errors: JSON.parse(row.errors) as Readonly<Record<string, number>>,
    response: row.response,
    service: row.service,
    failed: row.failed,
    unserved: row.unserved,
    censored: row.censored,
  }));
}

/** Each worker's newest, as it sent it, and when the store got it. */
export async function readSnapshots(
  tx: Tx,
  runId: RunId,
  workers: readonly { readonly workerId: LoadWorkerId }[],
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
      const custom = customOf(row.custom_metrics);
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
        answering: custom.answering,
        error_examples: custom.error_examples,
        series: series.get(row.worker_id as LoadWorkerId) ?? [],
        step_response: custom.step_response ?? null,
      };
      return [row.worker_id, { snapshot, atMs: row.timestamp_ms }] as const;
    }),
  );
}

/** Processes whose name another took over (SW1): they have figures, and no heartbeat. */
export async function readSuperseded(
  { db }: Tx,
  runId: RunId,
): Promise<readonly { readonly workerId: LoadWorkerId; readonly groupId: number }[]> {
  const rows = await db
    .selectFrom("worker_metrics_snapshots")
    .select(["worker_id", "worker_group_id"])
    .distinct()
    .where("run_id", "=", runId)
    .where("worker_id", "like", "%~%")
    .orderBy("worker_id")
    .execute();
  return rows.map(({ worker_id, worker_group_id }) => ({
    workerId: worker_id as LoadWorkerId,
    groupId: worker_group_id,
  }));
}

export interface StoredSecond {
  readonly workerId: LoadWorkerId;
  readonly phase: string;
  readonly health: GeneratorHealth;
  /** The time since the same worker's row before, by its own clock. */
  readonly seconds: number;
  readonly answering: Answering;
  readonly errorExamples: Readonly<Record<string, string>>;
}

/**
 * One for each second and worker of MEASUREMENT, and of what came after it; each worker's last has
 * the most.
 */
export async function readWorkerSeconds(
  { db }: Tx,
  runId: RunId,
): Promise<readonly StoredSecond[]> {
  const rows = await db
    .selectFrom("worker_metrics_snapshots")
    .select(["worker_id", "phase", "elapsed_seconds", "custom_metrics"])
    .where("run_id", "=", runId)
    .where("phase", "<>", "WARMUP")
    .orderBy("worker_id")
    .orderBy("sequence")
    .execute();
  return rows.map((row, index) => {
    const { health, answering, error_examples: errorExamples } = customOf(row.custom_metrics);
    const { worker_id: workerId, phase, elapsed_seconds: elapsed } = row;
    const before = rows[index - 1];
    const isFirst = before?.worker_id !== workerId;
    const seconds = isFirst ? Math.min(1, elapsed) : Math.max(0, elapsed - before.elapsed_seconds);
    return {
      workerId: workerId as LoadWorkerId,
      phase,
      health,
      seconds,
      answering,
      errorExamples,
    };
  });
}

/** What each worker measured in each second of a step, in order. */
export async function readStepSeconds(
  { db }: Tx,
  runId: RunId,
  step: number,
): Promise<readonly StepSecond[]> {
  const rows = await db
    .selectFrom("worker_metrics_snapshots")
    .select(["worker_id", "qps", "timestamp_ms", "active_connections", "custom_metrics"])
    .where("run_id", "=", runId)
    .where("phase", "=", "MEASUREMENT")
    .where("step_number", "=", step)
    .orderBy("worker_id")
    .orderBy("sequence")
    .execute();
  return rows.map((row) => {
    const { health, step_response: response } = JSON.parse(row.custom_metrics) as CustomMetrics;
    return {
      workerId: row.worker_id as LoadWorkerId,
      atMs: row.timestamp_ms,
      connections: row.active_connections,
      qps: row.qps,
      response: Histogram.read(response ?? ""),
      isLate: generatorBoundReason(health) !== null,
    };
  });
}
