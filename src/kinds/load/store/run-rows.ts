/**
 * Rows of runs as the rest of the program sees them. JSON in them was written by us: it is read
 * without doubt.
 */

import { sql } from "kysely";
import { assert } from "../../../ground/kernel/errors.ts";
import type { Tx } from "../../../ground/store/index.ts";
import type { FindMaxProgress } from "../core/find-max-run.ts";
import type { LoadWorkerId, RunId } from "../core/ids.ts";
import type { ControlState, RunRecord, WorkerRecord } from "../core/run-record.ts";
import type { RunPhase, RunStatus, StopReason, WorkerStatus } from "../core/run-state.ts";
import type { Scenario } from "../core/scenario.ts";
import { readScenario, type WrittenScenario } from "../core/scenario-codec.ts";
import type { LoadTables } from "../core/tables.ts";
import { verdictDefaults } from "../core/verdict.ts";
import { decodeTargets } from "./control-event-codec.ts";

export async function readNow({ db }: Pick<Tx, "db">): Promise<number> {
  const found = await sql<{ now: number }>`SELECT now_ms() AS now`.execute(db);
  const now = found.rows[0]?.now;
  assert(now !== undefined, "now_ms() gives one row");
  return now;
}

export async function readRun({ db }: Tx, runId: RunId): Promise<RunRecord | undefined> {
  const row = await db
    .selectFrom("run_status")
    .selectAll()
    .where("run_id", "=", runId)
    .executeTakeFirst();
  return row && recordOf(row);
}

export async function readWorkers({ db }: Tx, runId: RunId): Promise<readonly WorkerRecord[]> {
  const rows = await db
    .selectFrom("worker_heartbeats")
    .selectAll()
    .where("run_id", "=", runId)
    .orderBy("worker_group_id")
    .orderBy("worker_id")
    .execute();
  return rows.map((row) => ({
    workerId: row.worker_id as LoadWorkerId,
    groupId: row.worker_group_id,
    testId: row.test_id,
    hostName: row.host_name,
    processId: row.process_id,
    status: row.status as WorkerStatus,
    phase: row.phase as RunPhase,
    targetConnections: row.target_connections,
    activeConnections: row.active_connections,
    lastHeartbeatMs: row.last_heartbeat_ms,
    lastError: row.last_error,
  }));
}

function recordOf(row: LoadTables["run_status"]): RunRecord {
  return {
    runId: row.run_id as RunId,
    testName: row.test_name,
    templateId: row.template_id,
    scenario: scenarioOf(row.scenario_config),
    targetSecret: row.target_secret,
    status: row.status as RunStatus,
    phase: row.phase as RunPhase,
    startTimeMs: row.start_time_ms,
    warmupStartTimeMs: row.warmup_start_time_ms,
    warmupEndTimeMs: row.warmup_end_time_ms,
    stopTimeMs: row.stop_time_ms,
    endTimeMs: row.end_time_ms,
    expectedWorkers: row.total_workers_expected,
    targets: decodeTargets(row.worker_targets),
    findMax: parsed<FindMaxProgress>(row.find_max_state),
    control: parsed<ControlState>(row.guardrail_state),
    stopReason: row.stop_reason as StopReason | null,
    cancellationReason: row.cancellation_reason,
    createdAtMs: row.created_at_ms,
  };
}

/** One of an earlier version has no limits of its own. */
function scenarioOf(text: string): Scenario {
  const scenario = readScenario(JSON.parse(text) as WrittenScenario) as Partial<Scenario>;
  return { verdict: verdictDefaults, ...scenario } as Scenario;
}

export function parsed<T>(text: string | null): T | null {
  return text === null ? null : (JSON.parse(text) as T);
}
