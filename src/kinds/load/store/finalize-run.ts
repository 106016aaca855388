/** The end of a run, in one transaction with its status. Rules: FI1 to FI5. */

import { sql } from "kysely";
import type { LeaseGrant, Store, Tx } from "../../../ground/store/index.ts";
import { figuresOf, slowestWorker } from "../core/figures.ts";
import { type FinalRecord, finalRecordOf } from "../core/final-record.ts";
import type { RunId } from "../core/ids.ts";
import { type LatencySummary, latenciesOf } from "../core/latency.ts";
import type { RunRecord } from "../core/run-record.ts";
import type { EnrichmentStatus, RunStatus } from "../core/run-state.ts";
import {
  findMaxResultOf,
  measuredSecondsOf,
  readFigures,
  readRecordFacts,
  writeFinalRecord,
} from "./final-record.ts";
import { settleLostArrivals } from "./lost-arrivals.ts";
import { figureColumns } from "./result-rows.ts";
import { readNow, readRun, readWorkers } from "./run-rows.ts";
import { applyChange, type RunChange, type RunLog } from "./run-store.ts";
import { readSeries, type StoredSeries } from "./worker-series.ts";

export interface RunEnd {
  readonly from: RunStatus;
  readonly status: "COMPLETED" | "CANCELLED" | "FAILED";
  readonly logs: readonly RunLog[];
  readonly deadWorkers?: RunChange["deadWorkers"];
}

export async function finalizeRun(
  store: Store,
  runId: RunId,
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
    await settleLostArrivals(tx, run, endTimeMs);
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
  const record = finalRecordOf(await readRecordFacts(tx, run, endTimeMs));
  const workers = await readWorkers(tx, run.runId);
  const figures = figuresOf(series);
  const result = findMaxResultOf(run, record.generator_bound);
  const byWorker = Map.groupBy(series, ({ workerId }) => workerId);
  await tx.db
    .updateTable("test_results")
    .set({
      duration_seconds: run.startTimeMs === null ? null : (endTimeMs - run.startTimeMs) / 1000,
      latency_aggregation_method: run.expectedWorkers > 1 ? "merged_histogram" : null,
      find_max_result: result === null ? null : JSON.stringify(result),
      enrichment_status: "PENDING",
    })
    .where("test_id", "=", run.runId)
    .execute();
  await writeFinalRecord(tx, run.runId, record, {
    measured_seconds: record.measured_seconds,
    errors_by_kind: record.errors_by_kind,
    rows: figures.rows,
    response: figures.response.encode(),
    censored: figures.censored.encode(),
    failed: figures.failed.encode(),
    service: figures.service.encode(),
    slowest_worker: slowestWorker(byWorker.values()),
    workers: workers.map(({ workerId, status }) => ({ worker_id: workerId, status })),
  });
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

/** Writes the rows of workers that did not write their own at their end. */
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
        qps: seconds > 0 ? (figures.ops - figures.errors) / seconds : null,
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

/** Adds to the run's figures. */
export async function addFigures(
  store: Store,
  runId: RunId,
  more: Readonly<Record<string, unknown>>,
  lease: LeaseGrant,
): Promise<void> {
  await store.catalogTransaction(async (tx) => {
    const figures = JSON.stringify({ ...(await readFigures(tx, runId)), ...more });
    await tx.db.updateTable("test_results").set({ figures }).where("test_id", "=", runId).execute();
  }, lease);
}

/** Percentiles from the lake's records of MEASUREMENT (FI2). */
export interface RecordedPercentiles {
  readonly recordCount: number;
  readonly successCount: number;
  /** By `ALL`, kind and operation: successes and unserved arrivals. */
  readonly latency: ReadonlyMap<string, LatencySummary>;
}

export async function replacePercentiles(
  store: Store,
  runId: RunId,
  recorded: RecordedPercentiles,
  lease: LeaseGrant,
): Promise<void> {
  await store.catalogTransaction(async (tx) => {
    const run = await readRun(tx, runId);
    if (run === undefined || run.endTimeMs === null) return;
    const facts = await readRecordFacts(tx, run, run.endTimeMs);
    const before = finalRecordOf(facts);
    const { total_operations: total, failed_operations: failed } = before;
    const coverage = total === 0 ? 0 : Math.min(1, recorded.recordCount / total);
    // The missing records may be the slowest.
    const isWhole = recorded.successCount === total - failed;
    const record = isWhole ? finalRecordOf({ ...facts, recorded: recorded.latency }) : before;
    const { p95_latency_ms, p99_latency_ms } = record;
    const isOnly = isWhole && (await writeOnlyChild(tx, runId, record));
    await writeFinalRecord(tx, runId, record, {
      record_coverage: coverage,
      ...(isOnly ? { slowest_worker: { p95_latency_ms, p99_latency_ms } } : {}),
    });
  }, lease);
}

/** Writes the row of the only worker (FI5). Returns `false` when there are several workers. */
async function writeOnlyChild({ db }: Tx, runId: RunId, record: FinalRecord): Promise<boolean> {
  const children = await db
    .selectFrom("test_results")
    .select("test_id")
    .where("run_id", "=", runId)
    .where("worker_id", "is not", null)
    .execute();
  const [only, ...others] = children;
  if (only === undefined || others.length > 0) return false;
  await db
    .updateTable("test_results")
    .set(latenciesOf(record))
    .where("test_id", "=", only.test_id)
    .execute();
  return true;
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
  runId: RunId,
  result: EnrichmentResult,
  lease: LeaseGrant,
): Promise<void> {
  await store.catalogTransaction(async (tx) => {
    const { status, ratio, error, overhead, statements } = result;
    const figures = statements && JSON.stringify({ ...(await readFigures(tx, runId)), statements });
    await tx.db
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

/** Runs that have ended and whose enrichment is not finished. */
export async function runsToEnrich(store: Store): Promise<readonly RunId[]> {
  const rows = await store.read(({ db }) =>
    db
      .selectFrom("test_results")
      .select("test_id")
      .where("worker_id", "is", null)
      .where("enrichment_status", "in", ["PENDING", "RUNNING"])
      .orderBy("end_time_ms")
      .execute(),
  );
  return rows.map(({ test_id: id }) => id as RunId);
}
