/**
 * Load workers on the machines of Capstan's workers, as rows: what the coordinator wants, and what
 * those make of it. Rules: PS1.
 */

import { sql } from "kysely";
import type { LeaseGrant, Store } from "../../../ground/store/index.ts";
import type { LoadHost } from "../core/decide-host.ts";
import type { LoadWorkerId, RunId } from "../core/ids.ts";
import type { LoadTables } from "../core/tables.ts";

export type ProcessState = "WANTED" | "STARTING" | "STARTED" | "ENDED" | "FAILED";
export type ProcessSignal = "SIGTERM" | "SIGKILL";

/** The reason stored for a process that was stopped before it was started. */
export const notWanted = "it was not wanted any more";

export interface LoadProcess {
  readonly runId: RunId;
  readonly workerId: LoadWorkerId;
  readonly groupId: number;
  readonly groupCount: number;
  /** The Capstan worker that starts it. */
  readonly startedBy: string;
  readonly coordinatorUrl: string;
  readonly state: ProcessState;
  readonly reason: string | null;
  readonly signalWanted: ProcessSignal | null;
  /** The time since the last change of state. */
  readonly ageMs: number;
  /** Whether its run still needs load; otherwise the process need not be started. */
  readonly isRunWanting: boolean;
}

/** As the coordinator sees it. */
export interface WatchedProcess extends LoadProcess {
  /** Whether the one that started it is in touch with the cluster. */
  readonly isStarterActive: boolean;
}

export type NewProcess = Pick<
  LoadProcess,
  "runId" | "workerId" | "groupId" | "groupCount" | "startedBy" | "coordinatorUrl"
>;

export class ProcessStore {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Capstan's workers that take work, with how many of this run's processes each was given. */
  async readHosts(runId: RunId): Promise<readonly LoadHost[]> {
    return await this.#store.read(async ({ db }) => {
      const workers = await db
        .selectFrom("workers")
        .select(["worker_id", "host_name", "capacity"])
        .where("state", "=", "ACTIVE")
        .where("accepting_work", "=", 1)
        .where("drain_requested", "=", 0)
        .orderBy("worker_id")
        .execute();
      const given = await db
        .selectFrom("load_processes")
        .select("started_by")
        .where("run_id", "=", runId)
        .execute();
      return workers.map((worker) => ({
        name: worker.worker_id,
        hostName: worker.host_name,
        capacity: worker.capacity,
        given: given.filter((row) => row.started_by === worker.worker_id).length,
      }));
    });
  }

  /** Requests a process, or replaces one that was never started. */
  async want(wanted: NewProcess, lease: LeaseGrant): Promise<void> {
    const row = {
      worker_group_id: wanted.groupId,
      worker_group_count: wanted.groupCount,
      started_by: wanted.startedBy,
      coordinator_url: wanted.coordinatorUrl,
      state: "WANTED",
      reason: null,
      signal_wanted: null,
      changed_at_ms: sql<number>`now_ms()`,
    };
    await this.#store.catalogTransaction(async ({ db }) => {
      await db
        .insertInto("load_processes")
        .values({ run_id: wanted.runId, worker_id: wanted.workerId, ...row })
        .onConflict((conflict) => conflict.columns(["run_id", "worker_id"]).doUpdateSet(row))
        .execute();
    }, lease);
  }

  /** Returns `false` when a Capstan worker has taken it. */
  async giveToAnother(process: LoadProcess, startedBy: string, lease: LeaseGrant) {
    return await this.#changeWanted(process, { started_by: startedBy }, lease);
  }

  async giveUp(process: LoadProcess, reason: string, lease: LeaseGrant): Promise<boolean> {
    return await this.#changeWanted(process, { state: "FAILED", reason }, lease);
  }

  /** Returns `false` when a Capstan worker has taken it. */
  async withdraw({ runId, workerId }: LoadProcess, lease: LeaseGrant): Promise<boolean> {
    return await this.#store.catalogTransaction(async ({ db }) => {
      const { numDeletedRows } = await db
        .deleteFrom("load_processes")
        .where("run_id", "=", runId)
        .where("worker_id", "=", workerId)
        .where("state", "=", "WANTED")
        .executeTakeFirstOrThrow();
      return numDeletedRows === 1n;
    }, lease);
  }

  async wantSignal(
    { runId, workerId }: Pick<LoadProcess, "runId" | "workerId">,
    signal: ProcessSignal,
    lease: LeaseGrant,
  ): Promise<void> {
    await this.#store.catalogTransaction(async ({ db }) => {
      await db
        .updateTable("load_processes")
        .set({ signal_wanted: signal })
        .where("run_id", "=", runId)
        .where("worker_id", "=", workerId)
        .execute();
    }, lease);
  }

  async ofRuns(runIds: readonly RunId[]): Promise<readonly WatchedProcess[]> {
    const rows = await this.#store.read(({ db }) =>
      db
        .selectFrom("load_processes")
        .innerJoin("run_status", "run_status.run_id", "load_processes.run_id")
        .leftJoin("workers", "workers.worker_id", "load_processes.started_by")
        .selectAll("load_processes")
        .select(["workers.state as starter_state", "run_status.status as run", ageMs])
        .where("load_processes.run_id", "in", runIds)
        .execute(),
    );
    return rows.map((row) => ({
      ...processOf(row),
      isStarterActive: row.starter_state === "ACTIVE",
    }));
  }

  /** The processes assigned to a Capstan worker. */
  async startedBy(name: string): Promise<readonly LoadProcess[]> {
    const rows = await this.#store.read(({ db }) =>
      db
        .selectFrom("load_processes")
        .innerJoin("run_status", "run_status.run_id", "load_processes.run_id")
        .selectAll("load_processes")
        .select(["run_status.status as run", ageMs])
        .where("started_by", "=", name)
        .where("state", "in", ["WANTED", "STARTING", "STARTED"])
        .orderBy("changed_at_ms")
        .execute(),
    );
    return rows.map(processOf);
  }

  /** Returns `false` when the process is no longer this worker's, or is in another state (PS1). */
  async advance(
    { runId, workerId, startedBy, state: from }: LoadProcess,
    to: Pick<LoadProcess, "state"> & Partial<Pick<LoadProcess, "reason">>,
  ): Promise<boolean> {
    return await this.#store.transaction(async ({ db }) => {
      const { numUpdatedRows } = await db
        .updateTable("load_processes")
        .set({
          ...to,
          changed_at_ms: sql<number>`now_ms()`,
        })
        .where("run_id", "=", runId)
        .where("worker_id", "=", workerId)
        .where("started_by", "=", startedBy)
        .where("state", "=", from)
        .executeTakeFirstOrThrow();
      return numUpdatedRows === 1n;
    });
  }

  /** The process in a load worker's heartbeat. Undefined before the first heartbeat. */
  async heartbeatOf({ runId, workerId }: Pick<LoadProcess, "runId" | "workerId">) {
    return await this.#store.read(({ db }) =>
      db
        .selectFrom("worker_heartbeats")
        .select(["host_name as hostName", "process_id as processId"])
        .where("run_id", "=", runId)
        .where("worker_id", "=", workerId)
        .executeTakeFirst(),
    );
  }

  async #changeWanted(
    { runId, workerId, startedBy }: LoadProcess,
    change: Partial<Pick<LoadTables["load_processes"], "started_by" | "state" | "reason">>,
    lease: LeaseGrant,
  ): Promise<boolean> {
    return await this.#store.catalogTransaction(async ({ db }) => {
      const { numUpdatedRows } = await db
        .updateTable("load_processes")
        .set({ ...change, changed_at_ms: sql<number>`now_ms()` })
        .where("run_id", "=", runId)
        .where("worker_id", "=", workerId)
        .where("started_by", "=", startedBy)
        .where("state", "=", "WANTED")
        .executeTakeFirstOrThrow();
      return numUpdatedRows === 1n;
    }, lease);
  }
}

const ageMs = sql<number>`now_ms() - changed_at_ms`.as("age_ms");

type ProcessRow = LoadTables["load_processes"] & { readonly age_ms: number; readonly run: string };

function processOf(row: ProcessRow): LoadProcess {
  return {
    runId: row.run_id as RunId,
    workerId: row.worker_id as LoadWorkerId,
    groupId: row.worker_group_id,
    groupCount: row.worker_group_count,
    startedBy: row.started_by,
    coordinatorUrl: row.coordinator_url,
    state: row.state as ProcessState,
    reason: row.reason,
    signalWanted: row.signal_wanted as ProcessSignal | null,
    ageMs: row.age_ms,
    isRunWanting: row.run === "RUNNING",
  };
}
