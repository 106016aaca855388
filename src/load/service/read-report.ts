/** A run from the store, as reports, summaries and comparisons want it. */
import { isoTime } from "../../kernel/iso-time.ts";
import type { LoadTables, Store, Tx } from "../../store/index.ts";
import type { ComparedRun } from "../core/compare-runs.ts";
import { figuresFor, figuresOf } from "../core/figures.ts";
import type { FindMaxResult, StepOutcome } from "../core/find-max.ts";
import { Histogram } from "../core/histogram.ts";
import type { ReportOperation, ReportSecond, RunReport } from "../core/report/run-report.ts";
import { isTerminal, type RunPhase } from "../core/run-state.ts";
import { evaluateSlos } from "../core/slo.ts";
import type { SeriesSnapshot } from "../core/worker-snapshot.ts";
import { measuredSecondsOf } from "../store/finalize-run.ts";
import { parsed, readNow, readRun, readWorkers } from "../store/run-rows.ts";
import { readSeries } from "../store/worker-series.ts";

/** `undefined`: there is no such run. */
export async function readReport(store: Store, runId: string): Promise<RunReport | undefined> {
  return await store.read(async (tx) => {
    const run = await readRun(tx, runId);
    if (run === undefined) return undefined;
    const nowMs = await readNow(tx);
    const series = await readSeries(tx, runId, { phase: "MEASUREMENT" });
    const measured = measuredSecondsOf(run, run.endTimeMs ?? nowMs);
    const figures = figuresOf(series);
    const parent = await tx.db
      .selectFrom("test_results")
      .selectAll()
      .where("test_id", "=", runId)
      .executeTakeFirstOrThrow();
    const when = isTerminal(run.status) ? "final" : "live";
    const workers = await readWorkers(tx, runId);
    const isBound = parent.generator_bound === 1;
    const isValid = parent.percentiles_valid === 1;
    const lost = workers.filter(({ status }) => status === "DEAD" || status === "FAILED").length;
    return {
      run_id: runId,
      test_name: run.testName,
      status: run.status,
      cancellation_reason: run.cancellationReason,
      started_at: run.startTimeMs === null ? null : isoTime(run.startTimeMs),
      ended_at: run.endTimeMs === null ? null : isoTime(run.endTimeMs),
      measured_seconds: measured,
      worker_count: workers.length,
      scenario: run.scenario,
      figures: {
        ops: figures.ops,
        reads: figures.reads,
        writes: figures.writes,
        errors: figures.errors,
        errors_by_kind: figures.errorsByKind,
        qps: measured > 0 ? figures.ops / measured : 0,
        response: figures.response,
        service: figures.service,
      },
      operations: operationsOf(series),
      seconds: await readSeconds(tx, runId),
      slo: evaluateSlos(run.scenario.slos, (of) => figuresFor(series, of), measured, when),
      find_max:
        run.findMax === null
          ? null
          : {
              result: parsed<FindMaxResult>(parent.find_max_result),
              steps: await readSteps(tx, runId),
            },
      generator_bound: isBound,
      percentiles_valid: isValid,
      warnings: [
        ...(isBound ? ["the load generator was the bottleneck: these figures are its own"] : []),
        ...(isValid ? [] : ["arrivals were dropped: percentiles are too good"]),
        ...(lost === 0 ? [] : [`${lost} of ${workers.length} workers were lost`]),
      ],
    };
  });
}

export function comparedRun(report: RunReport): ComparedRun {
  return {
    run_id: report.run_id,
    test_name: report.test_name,
    scenario: report.scenario,
    seconds: report.seconds.filter(({ phase }) => phase === "MEASUREMENT"),
    operations: Object.fromEntries(
      report.operations.map(({ operation, response }) => [operation, { response }]),
    ),
    generator_bound: report.generator_bound,
    percentiles_valid: report.percentiles_valid,
  };
}

function operationsOf(series: readonly SeriesSnapshot[]): readonly ReportOperation[] {
  return [...Map.groupBy(series, ({ operation }) => operation)].map(([operation, own]) => {
    const { ops, errors, response } = figuresOf(own);
    return { operation, query_kind: own[0]?.kind ?? "CUSTOM", ops, errors, response };
  });
}

async function readSeconds({ db }: Tx, runId: string): Promise<readonly ReportSecond[]> {
  const rows = await db
    .selectFrom("metrics_snapshots")
    .select(["elapsed_seconds", "phase", "error_count", "active_connections", "interval_response"])
    .where("run_id", "=", runId)
    .orderBy("timestamp_ms")
    .execute();
  return rows.map((row, at) => {
    const response = decode(row.interval_response);
    const before = rows[at - 1];
    // Counts are of a phase, and begin again with it.
    const earlier = before?.phase === row.phase ? before.error_count : 0;
    return {
      elapsed_seconds: row.elapsed_seconds,
      phase: row.phase as RunPhase,
      ops: response.count,
      errors: Math.max(0, row.error_count - earlier),
      active_connections: row.active_connections,
      response,
    };
  });
}

function decode(text: string): Histogram {
  return (text === "" ? undefined : Histogram.decode(text)) ?? new Histogram();
}

async function readSteps({ db }: Tx, runId: string) {
  const rows = await db
    .selectFrom("find_max_step_history")
    .selectAll()
    .where("run_id", "=", runId)
    .orderBy("step_number")
    .execute();
  return rows.map((row: LoadTables["find_max_step_history"]) => ({
    step_number: row.step_number,
    connections: row.total_target_connections,
    qps: row.qps ?? 0,
    p95_latency_ms: row.p95_latency_ms,
    error_rate_pct: (row.error_rate ?? 0) * 100,
    outcome: row.outcome as StepOutcome | null,
    reason: row.stop_reason ?? "",
  }));
}
