/** `test_results`: a parent for each run, a child for each worker. Counts are of MEASUREMENT. */

import { sql } from "kysely";
import { assert } from "../../../ground/kernel/errors.ts";
import type { Tx } from "../../../ground/store/index.ts";
import { type Figures, figuresOf } from "../core/figures.ts";
import type { LoadWorkerId, RunId } from "../core/ids.ts";
import { summaryOf } from "../core/latency.ts";
import type { WorkerStatus } from "../core/run-state.ts";
import type { Scenario } from "../core/scenario.ts";
import type { WorkerIdentity } from "../core/worker-control.ts";
import type { SeriesSnapshot } from "../core/worker-snapshot.ts";
import { readRun } from "./run-rows.ts";

export interface NewResult {
  readonly testId: string;
  readonly runId: RunId;
  readonly testName: string;
  readonly workerId: LoadWorkerId | null;
  readonly status: string;
  readonly scenario: Scenario;
}

export async function insertParent({ db }: Tx, result: NewResult): Promise<void> {
  await db.insertInto("test_results").values(newRow(result)).execute();
}

/** Idempotent. */
export async function insertChild(tx: Tx, worker: WorkerIdentity): Promise<void> {
  const run = await readRun(tx, worker.runId);
  assert(run !== undefined, "a worker registers with a run that is there");
  const row = newRow({
    testId: worker.testId,
    runId: worker.runId,
    testName: `${run.testName} / ${worker.workerId}`,
    workerId: worker.workerId,
    status: "RUNNING",
    scenario: run.scenario,
  });
  await tx.db
    .insertInto("test_results")
    .values({ ...row, start_time_ms: sql<number>`now_ms()` })
    .onConflict((conflict) => conflict.column("test_id").doNothing())
    .execute();
}

/** A child's own end, from its last snapshot. */
export async function updateChild(
  { db }: Tx,
  worker: WorkerIdentity,
  series: readonly SeriesSnapshot[],
  status: WorkerStatus,
): Promise<void> {
  const figures = figuresOf(series.filter(({ phase }) => phase === "MEASUREMENT"));
  await db
    .updateTable("test_results")
    .set({
      ...figureColumns(figures),
      status,
      end_time_ms: sql<number>`now_ms()`,
      duration_seconds: sql<number>`(now_ms() - start_time_ms) / 1000.0`,
      updated_at_ms: sql<number>`now_ms()`,
    })
    .where("test_id", "=", worker.testId)
    .execute();
}

/** Of one worker. */
export function figureColumns(figures: Figures) {
  return {
    total_operations: figures.ops,
    read_operations: figures.reads,
    write_operations: figures.writes,
    failed_operations: figures.errors,
    unserved: figures.unserved,
    ...summaryOf(figures),
  };
}

function newRow({ testId, runId, testName, workerId, status, scenario }: NewResult) {
  const { target, workload } = scenario;
  return {
    test_id: testId,
    run_id: runId,
    test_name: testName,
    template_id: scenario.templateId,
    template_name: scenario.templateName,
    worker_id: workerId,
    status,
    target_kind: target.kind,
    table_name: target.tableName,
    table_type: target.tableType,
    warehouse: target.warehouse,
    load_mode: workload.loadMode,
    query_tag: queryTagOf(runId),
    concurrent_connections: workload.concurrentConnections,
    total_operations: 0,
    read_operations: 0,
    write_operations: 0,
    failed_operations: 0,
    percentiles_valid: 1,
    generator_bound: 0,
    figures: "{}",
    created_at_ms: sql<number>`now_ms()`,
    updated_at_ms: sql<number>`now_ms()`,
  } as const;
}

/** What the target can tell this run's statements by. */
export function queryTagOf(runId: RunId): string {
  return `capstan_load:test_id=${runId}`;
}
