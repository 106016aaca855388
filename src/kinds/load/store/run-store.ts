/** Runs, as the orchestrator writes and reads them. Rules: RN1 to RN3. */

import { sql } from "kysely";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { LeaseGrant, Store, Tx } from "../../../ground/store/index.ts";
import type { ControlEvent, Targets } from "../core/control-events.ts";
import type { FindMaxProgress } from "../core/find-max-run.ts";
import { groupOf, type LoadWorkerId, type RunId } from "../core/ids.ts";
import type { ControlState, RunRecord, WorkerRecord } from "../core/run-record.ts";
import type { RunPhase, RunStatus, StopReason } from "../core/run-state.ts";
import type { Scenario } from "../core/scenario.ts";
import { writeScenario } from "../core/scenario-codec.ts";
import type { LogLine } from "../core/worker-control.ts";
import { decodeEvent, encodeEvent, encodeTargets } from "./control-event-codec.ts";
import { insertParent } from "./result-rows.ts";
import { appendLogs } from "./run-logs.ts";
import { type PoolSource, writeRunPools } from "./run-pools.ts";
import { readNow, readRun, readWorkers } from "./run-rows.ts";
import { insertStep, type JudgedStep } from "./run-series.ts";

export interface NewRun {
  readonly runId: RunId;
  readonly testName: string;
  readonly scenario: Scenario;
  /** The sealed password. */
  readonly targetSecret: string | null;
  readonly expectedWorkers: number;
  readonly pools: PoolSource;
}

/** Given fields change; the others stay. */
export interface RunChange {
  readonly status?: RunStatus;
  readonly phase?: RunPhase;
  readonly startTimeMs?: number;
  readonly warmupStartTimeMs?: number;
  readonly warmupEndTimeMs?: number;
  readonly stopTimeMs?: number;
  readonly endTimeMs?: number;
  readonly stopReason?: StopReason;
  readonly cancellationReason?: string | null;
  readonly expectedWorkers?: number;
  readonly targets?: Targets;
  readonly findMax?: FindMaxProgress;
  readonly control?: ControlState;
  readonly events?: readonly ControlEvent[];
  readonly deadWorkers?: readonly { readonly workerId: LoadWorkerId; readonly why: string }[];
  readonly logs?: readonly RunLog[];
  /** A step that was judged. */
  readonly step?: JudgedStep;
}

/** The orchestrator's own lines. */
export interface RunLog {
  readonly level: LogLine["level"];
  readonly message: string;
  readonly workerId?: LoadWorkerId;
}

/** Everything about a run, read at one moment. */
export interface RunLook {
  readonly run: RunRecord;
  readonly nowMs: number;
  readonly workers: readonly WorkerRecord[];
  /** The announced beginning of MEASUREMENT. Null before it is announced. */
  readonly measurementAnnouncedMs: number | null;
}

export class RunStore {
  readonly store: Store;

  constructor(store: Store) {
    this.store = store;
  }

  async create(run: NewRun, lease: LeaseGrant): Promise<void> {
    const { runId, testName, scenario } = run;
    await this.store.catalogTransaction(async (tx) => {
      await tx.db
        .insertInto("run_status")
        .values({
          run_id: runId,
          test_id: runId,
          template_id: scenario.templateId,
          test_name: testName,
          scenario_config: JSON.stringify(writeScenario(scenario)),
          target_secret: run.targetSecret,
          status: "PREPARED",
          phase: "",
          total_workers_expected: run.expectedWorkers,
          workers_registered: 0,
          workers_active: 0,
          workers_completed: 0,
          total_ops: 0,
          error_count: 0,
          current_qps: 0,
          worker_targets: "{}",
          next_sequence_id: 1,
          next_log_sequence: 1,
          created_at_ms: sql<number>`now_ms()`,
          updated_at_ms: sql<number>`now_ms()`,
        })
        .execute();
      const parent = { testId: runId, runId, testName, scenario, workerId: null } as const;
      await insertParent(tx, { ...parent, status: "PREPARED" });
      await writeRunPools(tx, runId, run.pools);
    }, lease);
  }

  async look(runId: RunId): Promise<RunLook | undefined> {
    return await this.store.read(async (tx) => {
      const run = await readRun(tx, runId);
      if (run === undefined) return undefined;
      return {
        run,
        nowMs: await readNow(tx),
        workers: await readWorkers(tx, runId),
        measurementAnnouncedMs: run.phase === "WARMUP" ? await readAnnouncement(tx, runId) : null,
      };
    });
  }

  /**
   * Started runs that are active or ended within the last `endedMs`: their processes may be left.
   */
  async runsToSee(endedMs: number): Promise<readonly RunId[]> {
    const rows = await this.store.read(({ db }) =>
      db
        .selectFrom("run_status")
        .select("run_id")
        .where((is) =>
          is.or([
            is("status", "in", ["RUNNING", "STOPPING", "CANCELLING"]),
            is.and([
              is("start_time_ms", "is not", null),
              is("end_time_ms", ">", sql<number>`now_ms() - CAST(${endedMs} AS BIGINT)`),
            ]),
          ]),
        )
        .orderBy("created_at_ms")
        .execute(),
    );
    return rows.map(({ run_id: id }) => id as RunId);
  }

  /** Throws `conflict` when the run is no longer in `from` (RN1). */
  async apply(runId: RunId, from: RunStatus, change: RunChange, lease: LeaseGrant): Promise<void> {
    await this.store.catalogTransaction((tx) => applyChange(tx, runId, from, change), lease);
  }

  async log(runId: RunId, lines: readonly RunLog[], lease: LeaseGrant): Promise<void> {
    await this.store.catalogTransaction((tx) => appendOwnLogs(tx, runId, lines), lease);
  }
}

export async function applyChange(
  tx: Tx,
  runId: RunId,
  from: RunStatus,
  change: RunChange,
): Promise<void> {
  const events = change.events ?? [];
  const taken = await tx.db
    .updateTable("run_status")
    .set({
      ...columnsOf(change),
      next_sequence_id: sql<number>`next_sequence_id + CAST(${events.length} AS BIGINT)`,
      updated_at_ms: sql<number>`now_ms()`,
    })
    .where("run_id", "=", runId)
    .where("status", "=", from)
    .returning("next_sequence_id as next")
    .executeTakeFirst();
  if (taken === undefined) {
    throw new OperatingError("conflict", "backoff", `the run ${runId} is not ${from} any more`);
  }
  await insertEvents(tx, runId, taken.next - events.length, events);
  for (const dead of change.deadWorkers ?? []) await markDead(tx, runId, dead);
  if (change.step !== undefined) await insertStep(tx, runId, change.step);
  if (change.status !== undefined) await mirrorStatus(tx, runId, change);
  await appendOwnLogs(tx, runId, change.logs ?? []);
}

function columnsOf(change: RunChange) {
  const { targets, findMax, control } = change;
  return defined({
    status: change.status,
    phase: change.phase,
    start_time_ms: change.startTimeMs,
    warmup_start_time_ms: change.warmupStartTimeMs,
    warmup_end_time_ms: change.warmupEndTimeMs,
    stop_time_ms: change.stopTimeMs,
    end_time_ms: change.endTimeMs,
    stop_reason: change.stopReason,
    cancellation_reason: change.cancellationReason,
    total_workers_expected: change.expectedWorkers,
    worker_targets: targets && encodeTargets(targets),
    find_max_state: findMax && JSON.stringify(findMax),
    guardrail_state: control && JSON.stringify(control),
  });
}

function defined<T extends Record<string, unknown>>(values: T) {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

/** RN3 */
async function insertEvents(
  { db }: Tx,
  runId: RunId,
  first: number,
  events: readonly ControlEvent[],
): Promise<void> {
  if (events.length === 0) return;
  await db
    .insertInto("run_control_events")
    .values(
      events.map((event, index) => ({
        event_id: `${runId}/${first + index}`,
        run_id: runId,
        ...encodeEvent(event),
        sequence_id: first + index,
        created_at_ms: sql<number>`now_ms()`,
      })),
    )
    .execute();
}

/** A worker that never registered gets a row, so that it is marked once. */
async function markDead(
  { db }: Tx,
  runId: RunId,
  { workerId, why }: { readonly workerId: LoadWorkerId; readonly why: string },
): Promise<void> {
  await db
    .insertInto("worker_heartbeats")
    .values({
      run_id: runId,
      worker_id: workerId,
      worker_group_id: groupOf(workerId),
      test_id: "",
      incarnation: "",
      host_name: "",
      process_id: 0,
      status: "DEAD",
      phase: "",
      last_sequence_id: 0,
      target_connections: 0,
      active_connections: 0,
      started_at_ms: sql<number>`now_ms()`,
      last_heartbeat_ms: sql<number>`now_ms()`,
      last_error: why,
    })
    .onConflict((conflict) =>
      conflict
        .columns(["run_id", "worker_id"])
        .doUpdateSet({ status: "DEAD", last_error: why, active_connections: 0 }),
    )
    .execute();
}

/** Copies the status to `test_results`, which lists read alone. */
async function mirrorStatus({ db }: Tx, runId: RunId, change: RunChange): Promise<void> {
  const { status, startTimeMs, endTimeMs, cancellationReason } = change;
  await db
    .updateTable("test_results")
    .set({
      ...defined({
        status,
        start_time_ms: startTimeMs,
        end_time_ms: endTimeMs,
        cancellation_reason: cancellationReason,
      }),
      updated_at_ms: sql<number>`now_ms()`,
    })
    .where("test_id", "=", runId)
    .execute();
}

export async function appendOwnLogs(tx: Tx, runId: RunId, lines: readonly RunLog[]): Promise<void> {
  if (lines.length === 0) return;
  const row = await tx.db
    .selectFrom("run_status")
    .select(["next_log_sequence as next", sql<number>`now_ms()`.as("now")])
    .where("run_id", "=", runId)
    .executeTakeFirst();
  if (row === undefined) return;
  const complete = lines.map(({ level, message, workerId }, index) => ({
    logId: `${runId}/${row.next + index}`,
    testId: null,
    workerId: workerId ?? null,
    level,
    message,
    details: null,
    timestampMs: row.now,
  }));
  await appendLogs(tx, runId, complete);
}

async function readAnnouncement({ db }: Tx, runId: RunId): Promise<number | null> {
  const rows = await db
    .selectFrom("run_control_events")
    .select(["event_type", "event_data"])
    .where("run_id", "=", runId)
    .where("event_type", "=", "SET_PHASE")
    .execute();
  const announced = rows.map(decodeEvent).find((event) => {
    return event.type === "SET_PHASE" && event.phase === "MEASUREMENT" && event.atMs !== null;
  });
  return announced?.type === "SET_PHASE" ? announced.atMs : null;
}
