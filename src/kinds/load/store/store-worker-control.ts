/** A load worker's way to the store. Rules: SW1 to SW4. */

import { sql } from "kysely";
import type { Store, Tx } from "../../../ground/store/index.ts";
import type { SequencedEvent } from "../core/control-events.ts";
import type { RunId } from "../core/ids.ts";
import { isTerminal, type RunStatus, type WorkerStatus } from "../core/run-state.ts";
import type {
  LogLine,
  RunView,
  WorkerBeat,
  WorkerControl,
  WorkerIdentity,
} from "../core/worker-control.ts";
import type { WorkerSnapshot } from "../core/worker-snapshot.ts";
import { decodeEvent } from "./control-event-codec.ts";
import { insertChild, updateChild } from "./result-rows.ts";
import { appendLogs } from "./run-logs.ts";
import { readNow, readRun } from "./run-rows.ts";
import { writeWorkerSnapshot } from "./worker-series.ts";

export class StoreWorkerControl implements WorkerControl {
  readonly #store: Store;
  readonly #leaseName: string;

  /** `leaseName` is that of the coordinator's lease. */
  constructor(store: Store, options: { readonly leaseName: string }) {
    this.#store = store;
    this.#leaseName = options.leaseName;
  }

  async register(worker: WorkerIdentity): Promise<RunView | undefined> {
    return await this.#store.transaction(async (tx) => {
      const view = await this.#view(tx, worker.runId);
      if (view === undefined || isTerminal(view.status)) return view; // SW4
      await supersede(tx, worker);
      await insertHeartbeat(tx, worker, view);
      await insertChild(tx, worker);
      return view;
    });
  }

  async read(runId: RunId): Promise<RunView | undefined> {
    return await this.#store.read((tx) => this.#view(tx, runId));
  }

  async events(runId: RunId, afterSequence: number): Promise<readonly SequencedEvent[]> {
    const rows = await this.#store.read(({ db }) =>
      db
        .selectFrom("run_control_events")
        .select(["event_type", "event_data", "sequence_id"])
        .where("run_id", "=", runId)
        .where("sequence_id", ">", afterSequence)
        .orderBy("sequence_id")
        .execute(),
    );
    return rows.map((row) => ({ ...decodeEvent(row), sequence: row.sequence_id }));
  }

  async beat(worker: WorkerIdentity, beat: WorkerBeat): Promise<"ok" | "superseded" | "gone"> {
    return await this.#store.transaction(async (tx) => {
      if (await writeBeat(tx, worker, beat)) return "ok";
      const row = await tx.db
        .selectFrom("worker_heartbeats")
        .select("incarnation")
        .where("run_id", "=", worker.runId)
        .where("worker_id", "=", worker.workerId)
        .executeTakeFirst();
      return row === undefined ? "gone" : "superseded";
    });
  }

  async writeSnapshot(
    worker: WorkerIdentity,
    snapshot: WorkerSnapshot,
  ): Promise<"ok" | "superseded"> {
    return await this.#store.transaction(async (tx) => {
      if (!(await isCurrent(tx, worker))) return "superseded";
      if (!(await hasEnded(tx, worker))) await writeWorkerSnapshot(tx, snapshot);
      return "ok";
    });
  }

  async finish(
    worker: WorkerIdentity,
    snapshot: WorkerSnapshot,
    status: WorkerStatus,
  ): Promise<void> {
    await this.#store.transaction(async (tx) => {
      if (!(await isCurrent(tx, worker))) return;
      if (!(await hasEnded(tx, worker))) {
        await writeWorkerSnapshot(tx, snapshot);
        await updateChild(tx, worker, snapshot.series, status);
      }
      await tx.db
        .updateTable("worker_heartbeats")
        .set({ status, active_connections: 0, last_heartbeat_ms: sql<number>`now_ms()` })
        .where("run_id", "=", worker.runId)
        .where("worker_id", "=", worker.workerId)
        .execute();
    });
  }

  async log(runId: RunId, lines: readonly LogLine[]): Promise<void> {
    await this.#store.transaction((tx) => appendLogs(tx, runId, lines));
  }

  async #view(tx: Tx, runId: RunId): Promise<RunView | undefined> {
    const run = await readRun(tx, runId);
    if (run === undefined) return undefined;
    const nowMs = await readNow(tx);
    const lease = await tx.db
      .selectFrom("coordinator_leases")
      .select("expires_at_ms")
      .where("name", "=", this.#leaseName)
      .executeTakeFirst();
    return {
      ...run,
      leaseLapsedMs: lease === undefined ? 0 : Math.max(0, nowMs - lease.expires_at_ms),
      nowMs,
    };
  }
}

/** SW3. The WHERE clause is CT2 and SW2. */
async function writeBeat({ db }: Tx, worker: WorkerIdentity, beat: WorkerBeat): Promise<boolean> {
  const written = await db
    .updateTable("worker_heartbeats")
    .set({
      status: beat.status,
      phase: beat.phase,
      last_sequence_id: beat.lastSequenceId,
      target_connections: beat.targetConnections,
      active_connections: beat.activeConnections,
      last_error: beat.lastError,
      last_heartbeat_ms: sql<number>`now_ms()`,
    })
    .where("run_id", "=", worker.runId)
    .where("worker_id", "=", worker.workerId)
    .where("incarnation", "=", worker.incarnation)
    .where("status", "<>", "DEAD")
    .returning("worker_id")
    .execute();
  return written.length === 1;
}

async function isCurrent({ db }: Tx, worker: WorkerIdentity): Promise<boolean> {
  const row = await db
    .selectFrom("worker_heartbeats")
    .select("worker_id")
    .where("run_id", "=", worker.runId)
    .where("worker_id", "=", worker.workerId)
    .where("incarnation", "=", worker.incarnation)
    .where("status", "<>", "DEAD")
    .executeTakeFirst();
  return row !== undefined;
}

/** SW4 */
async function hasEnded({ db }: Tx, { runId }: WorkerIdentity): Promise<boolean> {
  const run = await db
    .selectFrom("run_status")
    .select("status")
    .where("run_id", "=", runId)
    .executeTakeFirst();
  return run === undefined || isTerminal(run.status as RunStatus);
}

/** SW1 */
async function supersede({ db }: Tx, worker: WorkerIdentity): Promise<void> {
  const before = await db
    .selectFrom("worker_heartbeats")
    .select("incarnation")
    .where("run_id", "=", worker.runId)
    .where("worker_id", "=", worker.workerId)
    .executeTakeFirst();
  if (before === undefined || before.incarnation === worker.incarnation) return;
  const name = `${worker.workerId}~${before.incarnation}`;
  for (const table of ["worker_series", "worker_metrics_snapshots"] as const) {
    await db
      .updateTable(table)
      .set({ worker_id: name })
      .where("run_id", "=", worker.runId)
      .where("worker_id", "=", worker.workerId)
      .execute();
  }
  await db
    .updateTable("test_results")
    .set({ worker_id: name })
    .where("run_id", "=", worker.runId)
    .where("worker_id", "=", worker.workerId)
    .execute();
}

async function insertHeartbeat(
  { db }: Tx,
  worker: WorkerIdentity,
  { phase }: RunView,
): Promise<void> {
  const row = {
    worker_group_id: worker.groupId,
    test_id: worker.testId,
    incarnation: worker.incarnation,
    host_name: worker.hostName,
    process_id: worker.processId,
    status: "STARTING",
    phase,
    last_sequence_id: 0,
    target_connections: 0,
    active_connections: 0,
    started_at_ms: sql<number>`now_ms()`,
    last_heartbeat_ms: sql<number>`now_ms()`,
    last_error: null,
  };
  await db
    .insertInto("worker_heartbeats")
    .values({ run_id: worker.runId, worker_id: worker.workerId, ...row })
    .onConflict((conflict) => conflict.columns(["run_id", "worker_id"]).doUpdateSet(row))
    .execute();
}
