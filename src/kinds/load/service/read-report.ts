/** A run from the store, as reports, summaries and comparisons want it. */

import { isoTime } from "../../../ground/kernel/iso-time.ts";
import type { Store, Tx } from "../../../ground/store/index.ts";
import type { ComparedRun } from "../core/compare-runs.ts";
import { figuresOf } from "../core/figures.ts";
import type { FindMaxResult, StepOutcome } from "../core/find-max.ts";
import { Histogram, mergeHistograms } from "../core/histogram.ts";
import type { RunId } from "../core/ids.ts";
import type { ReportSecond, RunReport } from "../core/report/run-report.ts";
import type { RunPhase } from "../core/run-state.ts";
import type { LoadTables } from "../core/tables.ts";
import { readRecord } from "../store/final-record.ts";
import { parsed, readNow, readRun, readWorkers } from "../store/run-rows.ts";
import { readSeries } from "../store/worker-series.ts";

/** Undefined when there is no such run. */
export async function readReport(store: Store, runId: RunId): Promise<RunReport | undefined> {
  return await store.read(async (tx) => {
    const run = await readRun(tx, runId);
    if (run === undefined) return undefined;
    const nowMs = await readNow(tx);
    const figures = figuresOf(await readSeries(tx, runId, { phase: "MEASUREMENT" }));
    const { find_max_result: search } = await tx.db
      .selectFrom("test_results")
      .select("find_max_result")
      .where("test_id", "=", runId)
      .executeTakeFirstOrThrow();
    const workers = await readWorkers(tx, runId);
    return {
      run_id: runId,
      test_name: run.testName,
      status: run.status,
      cancellation_reason: run.cancellationReason,
      started_at: run.startTimeMs === null ? null : isoTime(run.startTimeMs),
      ended_at: run.endTimeMs === null ? null : isoTime(run.endTimeMs),
      worker_count: workers.length,
      scenario: run.scenario,
      record: await readRecord(tx, run, nowMs),
      response: mergeHistograms([figures.response, figures.censored]),
      seconds: await readSeconds(tx, runId),
      find_max:
        run.findMax === null
          ? null
          : { result: parsed<FindMaxResult>(search), steps: await readSteps(tx, runId) },
    };
  });
}

export function comparedRun(report: RunReport): ComparedRun {
  const { run_id, test_name, scenario, record, seconds } = report;
  // How long the first second of a phase was is not known exactly; one without length has nothing
  // in it.
  const [, ...measured] = seconds.filter(({ phase }) => phase === "MEASUREMENT");
  const whole = measured.filter(({ seconds: length }) => length > 0);
  return { run_id, test_name, scenario, record, seconds: whole };
}

async function readSeconds({ db }: Tx, runId: RunId): Promise<readonly ReportSecond[]> {
  const rows = await db
    .selectFrom("metrics_snapshots")
    .select([
      "elapsed_seconds",
      "phase",
      "error_count",
      "active_connections",
      "interval_response",
      "interval_seconds",
      "interval_errors",
    ])
    .where("run_id", "=", runId)
    .orderBy("timestamp_ms")
    .execute();
  return rows.map((row, at) => {
    const response = Histogram.read(row.interval_response);
    const before = rows[at - 1];
    // Counts start again with each phase.
    const earlier = before?.phase === row.phase ? before.error_count : 0;
    // An earlier version had failures in the histogram, and did not say how long a second was.
    const isOld = row.interval_errors === null;
    const errors = row.interval_errors ?? Math.max(0, row.error_count - earlier);
    const since = row.elapsed_seconds - (before?.elapsed_seconds ?? row.elapsed_seconds - 1);
    return {
      elapsed_seconds: row.elapsed_seconds,
      phase: row.phase as RunPhase,
      seconds: row.interval_seconds ?? (isOld || before?.phase !== row.phase ? since : 0),
      ops: response.count + (isOld ? 0 : errors),
      errors,
      active_connections: row.active_connections,
      response,
    };
  });
}

async function readSteps({ db }: Tx, runId: RunId) {
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
