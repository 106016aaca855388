/**
 * The end of a run, in one transaction with its status.
 *
 *   FI1  Counts are of MEASUREMENT, from each worker's last cumulative figures: who died counts with what it had said.
 *   FI2  Percentiles are of the merged histograms. Once there are the lake's records they are of those, and their coverage stands beside them.
 *   FI3  It says what makes the figures doubtful: arrivals that were dropped, a generator that was the bottleneck, workers that died.
 *   FI4  What is written after the end (percentiles, enrichment) never changes a count.
 */
import { sql } from "kysely";
import type { LeaseGrant, Store, Tx } from "../../store/index.ts";
import { figuresFor, figuresOf, slowestWorker, toMs } from "../core/figures.ts";
import { type FindMaxResult, resultSoFar } from "../core/find-max.ts";
import { isGeneratorBound } from "../core/generator-bound.ts";
import type { EnrichmentStatus, RunStatus } from "../core/run-state.ts";
import { evaluateSlos } from "../core/slo.ts";
import { figureColumns } from "./result-rows.ts";
import { type RunRecord, readNow, readRun, readWorkers } from "./run-rows.ts";
import { applyChange, type RunChange, type RunLog } from "./run-store.ts";
import { readHealth, readSeries, type StoredSeries } from "./worker-series.ts";

export interface RunEnd {
  readonly from: RunStatus;
  readonly status: "COMPLETED" | "CANCELLED" | "FAILED";
  readonly logs: readonly RunLog[];
  readonly deadWorkers?: RunChange["deadWorkers"];
}

export async function finalizeRun(
  store: Store,
  runId: string,
  end: RunEnd,
  lease: LeaseGrant,
): Promise<void> {
  await store.catalogTransaction(async (tx) => {
    const endTimeMs = await readNow(tx);
    await applyChange(tx, runId, end.from, {
      status: end.status,
      ...(end.status === "COMPLETED" ? { phase: "PROCESSING" as const } : {}),
      endTimeMs,
      logs: end.logs,
      ...(end.deadWorkers === undefined ? {} : { deadWorkers: end.deadWorkers }),
    });
    const run = await readRun(tx, runId);
    if (run === undefined) return;
    const series = await readSeries(tx, runId, { phase: "MEASUREMENT" });
    await writeParent(tx, run, series, endTimeMs);
    await writeChildren(tx, run, series, endTimeMs);
  }, lease);
}

async function writeParent(
  tx: Tx,
  run: RunRecord,
  series: readonly StoredSeries[],
  endTimeMs: number,
): Promise<void> {
  const figures = figuresOf(series);
  const measuredSeconds = measuredSecondsOf(run, endTimeMs);
  const workers = await readWorkers(tx, run.runId);
  const health = await readHealth(tx, run.runId);
  const last = new Map(health.map((each) => [each.workerId, each.health]));
  const dropped = [...last.values()].reduce((sum, each) => sum + each.dropped, 0);
  const unsent = [...last.values()].reduce((sum, each) => sum + each.unsent, 0);
  const of = (name: string) => figuresFor(series, name);
  const { slos } = evaluateSlos(run.scenario.slos, of, measuredSeconds, "final");
  const result = findMaxResultOf(run);
  const byWorker = Map.groupBy(series, ({ workerId }) => workerId);
  const before = await readFigures(tx, run.runId);
  await tx.db
    .updateTable("test_results")
    .set({
      ...figureColumns(figures),
      qps: measuredSeconds > 0 ? figures.ops / measuredSeconds : null,
      duration_seconds: run.startTimeMs === null ? null : (endTimeMs - run.startTimeMs) / 1000,
      latency_aggregation_method: run.expectedWorkers > 1 ? "merged_histogram" : null,
      percentiles_valid: dropped === 0 ? 1 : 0,
      generator_bound: isGeneratorBound(health.map((each) => each.health)) ? 1 : 0,
      figures: JSON.stringify({
        ...before,
        measured_seconds: measuredSeconds,
        errors_by_kind: figures.errorsByKind,
        rows: figures.rows,
        response: figures.response.encode(),
        service: figures.service.encode(),
        operations: operationFigures(series),
        slowest_worker: slowestWorker(byWorker.values()),
        dropped,
        unsent,
        workers: workers.map(({ workerId, status }) => ({ worker_id: workerId, status })),
      }),
      find_max_result: result === null ? null : JSON.stringify(result),
      slo_result: slos.length === 0 ? null : JSON.stringify(slos),
      enrichment_status: "PENDING",
    })
    .where("test_id", "=", run.runId)
    .execute();
  await tx.db
    .updateTable("run_status")
    .set({
      total_ops: figures.ops,
      error_count: figures.errors,
      current_qps: 0,
      workers_registered: workers.length,
      workers_active: 0,
      workers_completed: workers.filter(({ status }) => status === "COMPLETED").length,
    })
    .where("run_id", "=", run.runId)
    .execute();
}

/** Who ended well has written its own row already; here are all others. */
async function writeChildren(
  { db }: Tx,
  run: RunRecord,
  series: readonly StoredSeries[],
  endTimeMs: number,
): Promise<void> {
  const children = await db
    .selectFrom("test_results")
    .select(["test_id", "worker_id", "status", "start_time_ms"])
    .where("run_id", "=", run.runId)
    .where("worker_id", "is not", null)
    .execute();
  const seconds = measuredSecondsOf(run, endTimeMs);
  for (const child of children) {
    const figures = figuresOf(series.filter(({ workerId }) => workerId === child.worker_id));
    const hasEnded = child.status === "COMPLETED" || child.status === "FAILED";
    const startMs = child.start_time_ms ?? endTimeMs;
    await db
      .updateTable("test_results")
      .set({
        ...figureColumns(figures),
        qps: seconds > 0 ? figures.ops / seconds : null,
        ...(hasEnded
          ? {}
          : {
              status: "DEAD",
              end_time_ms: endTimeMs,
              duration_seconds: (endTimeMs - startMs) / 1000,
            }),
        updated_at_ms: sql<number>`now_ms()`,
      })
      .where("test_id", "=", child.test_id)
      .execute();
  }
}

/** Never more than was planned: workers count nothing that begins later (LW19), whenever STOP comes. */
export function measuredSecondsOf(
  { warmupEndTimeMs: fromMs, stopTimeMs, scenario: { workload } }: RunRecord,
  endTimeMs: number,
): number {
  if (fromMs === null) return 0;
  const isSearch = workload.load_mode === "FIND_MAX_CONCURRENCY";
  const secondsMax = isSearch ? Infinity : workload.duration_seconds;
  return Math.min(secondsMax, Math.max(0, (stopTimeMs ?? endTimeMs) - fromMs) / 1000);
}

function operationFigures(series: readonly StoredSeries[]): Record<string, unknown> {
  const byName = Map.groupBy(series, ({ operation }) => operation);
  return Object.fromEntries(
    [...byName].map(([operation, own]) => {
      const figures = figuresOf(own);
      const { response, errorsByKind } = figures;
      return [
        operation,
        {
          query_kind: own[0]?.kind ?? "CUSTOM",
          ops: figures.ops,
          errors: figures.errors,
          errors_by_kind: errorsByKind,
          p50_latency_ms: toMs(response.percentileUs(0.5)),
          p95_latency_ms: toMs(response.percentileUs(0.95)),
          p99_latency_ms: toMs(response.percentileUs(0.99)),
          response: response.encode(),
        },
      ];
    }),
  );
}

function findMaxResultOf({ findMax, cancellationReason }: RunRecord): FindMaxResult | null {
  if (findMax === null) return null;
  return findMax.result ?? resultSoFar(findMax.state, cancellationReason ?? "the run ended before");
}

/** What is said of a run besides its columns. */
export async function readFigures({ db }: Tx, runId: string): Promise<Record<string, unknown>> {
  const row = await db
    .selectFrom("test_results")
    .select("figures")
    .where("test_id", "=", runId)
    .executeTakeFirst();
  return JSON.parse(row?.figures ?? "{}") as Record<string, unknown>;
}

/** Adds to it. */
export async function addFigures(
  store: Store,
  runId: string,
  more: Readonly<Record<string, unknown>>,
  lease: LeaseGrant,
): Promise<void> {
  await store.catalogTransaction(async (tx) => {
    const figures = JSON.stringify({ ...(await readFigures(tx, runId)), ...more });
    await tx.db.updateTable("test_results").set({ figures }).where("test_id", "=", runId).execute();
  }, lease);
}

/** FI2. From the lake's records of MEASUREMENT. */
export interface RecordedPercentiles {
  readonly recordCount: number;
  readonly p50: number;
  readonly p90: number;
  readonly p95: number;
  readonly p99: number;
  readonly p999: number;
  readonly avg: number;
  readonly min: number;
  readonly max: number;
}

export async function replacePercentiles(
  store: Store,
  runId: string,
  recorded: RecordedPercentiles,
  lease: LeaseGrant,
): Promise<void> {
  await store.catalogTransaction(async ({ db }) => {
    const row = await db
      .selectFrom("test_results")
      .select(["figures", "total_operations"])
      .where("test_id", "=", runId)
      .executeTakeFirst();
    if (row === undefined) return;
    const total = row.total_operations;
    const coverage = total === 0 ? 0 : Math.min(1, recorded.recordCount / total);
    await db
      .updateTable("test_results")
      .set({
        p50_latency_ms: recorded.p50,
        p90_latency_ms: recorded.p90,
        p95_latency_ms: recorded.p95,
        p99_latency_ms: recorded.p99,
        p999_latency_ms: recorded.p999,
        avg_latency_ms: recorded.avg,
        min_latency_ms: recorded.min,
        max_latency_ms: recorded.max,
        figures: JSON.stringify({ ...JSON.parse(row.figures), record_coverage: coverage }),
        updated_at_ms: sql<number>`now_ms()`,
      })
      .where("test_id", "=", runId)
      .execute();
  }, lease);
}

export interface EnrichmentResult {
  readonly status: EnrichmentStatus;
  readonly ratio?: number;
  readonly error?: string;
  readonly overhead?: { readonly p50: number; readonly p95: number; readonly p99: number };
  /** The target's own figures of statements, where it gives no more than those. */
  readonly statements?: readonly unknown[];
}

export async function writeEnrichment(
  store: Store,
  runId: string,
  result: EnrichmentResult,
  lease: LeaseGrant,
): Promise<void> {
  await store.catalogTransaction(async ({ db }) => {
    const { status, ratio, error, overhead, statements } = result;
    const row = await db
      .selectFrom("test_results")
      .select("figures")
      .where("test_id", "=", runId)
      .executeTakeFirst();
    if (row === undefined) return;
    const figures = statements && JSON.stringify({ ...JSON.parse(row.figures), statements });
    await db
      .updateTable("test_results")
      .set({
        enrichment_status: status,
        enrichment_error: error ?? null,
        ...(ratio === undefined ? {} : { enrichment_ratio: ratio }),
        ...(overhead === undefined
          ? {}
          : {
              app_overhead_p50_ms: overhead.p50,
              app_overhead_p95_ms: overhead.p95,
              app_overhead_p99_ms: overhead.p99,
            }),
        ...(figures === undefined ? {} : { figures }),
        updated_at_ms: sql<number>`now_ms()`,
      })
      .where("test_id", "=", runId)
      .execute();
  }, lease);
}

/** Ended, and not yet done with what comes after. */
export async function runsToEnrich(store: Store): Promise<readonly string[]> {
  const rows = await store.read(({ db }) =>
    db
      .selectFrom("test_results")
      .select("test_id")
      .where("worker_id", "is", null)
      .where("enrichment_status", "in", ["PENDING", "RUNNING"])
      .orderBy("end_time_ms")
      .execute(),
  );
  return rows.map(({ test_id: id }) => id);
}
