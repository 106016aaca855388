/** A catalog, workers of the model, and a coordinator that reconciles them, in virtual time. */
import { LakeStore, type ObjectStore } from "../../../../data/lake/index.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { silentLogger } from "../../../../ground/kernel/logger.ts";
import { createPrng } from "../../../../ground/kernel/prng.ts";
import { settleMicrotasks, VirtualClock } from "../../../../ground/kernel/testing/virtual-clock.ts";
import {
  createSharedSqlite,
  LeaseKeeper,
  openSimStore,
  type Store,
  type Tx,
} from "../../../../ground/store/index.ts";
import { workerRow } from "../../../../ground/store/testing/worker-row.ts";
import type { FragmentRow, QueryRow, StopMode } from "../../catalog/core/index.ts";
import {
  insertFragment,
  insertHeir,
  insertQuery,
  watchedStreamTables,
} from "../../catalog/index.ts";
import type { Plan } from "../../language/core/index.ts";
import type { FragmentSpec } from "../../run/core/index.ts";
import { QueryReconcilers } from "../reconcile/query-reconcilers.ts";
import { ModelFleet, ModelWorker } from "./model-fleet.ts";
import { queryRow } from "./views.ts";

const modelSettings = { checkpointIntervalMs: 10_000, parallelism: 1 };

const endMs = 50;

interface Leader {
  readonly fleet: ModelFleet;
  readonly lease: LeaseKeeper;
  readonly reconcilers: QueryReconcilers;
}

export class FleetWorld {
  readonly clock = new VirtualClock();
  readonly store: Store;
  readonly workers: ReadonlyMap<string, ModelWorker>;
  /** Settings of all queries, where they differ from the model's. */
  settings: Partial<Plan["settings"]> = {};
  /** Nodes of all plans. */
  nodes: Plan["nodes"] = [];
  #leader: Leader | undefined;
  #leaders = 0;

  constructor(workers: readonly string[]) {
    const database = createSharedSqlite(() => this.clock.wallMs());
    this.store = openSimStore({ database, watched: watchedStreamTables });
    this.workers = new Map(workers.map((id) => [id, new ModelWorker(id, this.clock)]));
    for (const worker of this.workers.values()) {
      worker.onStopped = (query, epoch) => this.#follow(worker, query, epoch);
    }
  }

  async open(): Promise<void> {
    await this.store.catalogTransaction(async (tx) => {
      for (const id of this.workers.keys()) await tx.insert("workers", workerRow(id));
    });
  }

  /** A coordinator takes the place of the one before, which dies without a word. */
  async lead(): Promise<void> {
    const before = this.#leader;
    before?.fleet.abandon();
    this.#leaders += 1;
    const fleet = new ModelFleet(this.workers);
    const { clock, store } = this;
    const prng = createPrng(`leader ${this.#leaders}`);
    const lease = new LeaseKeeper({
      store,
      clock,
      prng,
      logger: silentLogger,
      name: "coordinator",
      holder: "one",
      apiUrl: "http://here",
    });
    const reconcilers = new QueryReconcilers({
      store,
      clock,
      prng,
      logger: silentLogger,
      fleet,
      lease: () => lease.grant(),
      lake: {
        store,
        clock,
        prng,
        catalog: new LakeStore({ store, prng }),
        objects: {} as ObjectStore, // No sink of the model prepares files.
      },
      plans: {
        plan: async () => this.#plan(),
        sourceFragments: async () => new Set(["f0"]),
        specs: async ({ fragments }, workerId) =>
          fragments
            .filter(({ worker_id }) => worker_id === workerId)
            .map(({ fragment }) => ({ fragment }) as unknown as FragmentSpec),
      },
      placer: {
        move: async (tx, rows, lost) => {
          const takers = await this.#takers(tx, lost);
          return new Map(
            rows.fragments.map(({ fragment, worker_id, is_pinned }) => [
              fragment,
              is_pinned === 0 && lost.includes(worker_id) ? oneOf(takers) : worker_id,
            ]),
          );
        },
        placeAll: async (tx, rows) => {
          const takers = await this.#takers(tx, []);
          return new Map(
            rows.fragments.map(({ fragment, worker_id, is_pinned }) => [
              fragment,
              is_pinned === 0 ? oneOf(takers) : worker_id,
            ]),
          );
        },
      },
    });
    lease.onChange(() => reconcilers.leaseChanged());
    this.#leader = { fleet, lease, reconcilers };
    lease.start();
    reconcilers.start();
    if (before !== undefined) await this.#over(before.reconcilers.stop());
  }

  /** What it waits for may wait for time itself, such as a write for the end of its tick. */
  async #over(ending: Promise<void>): Promise<void> {
    let isOver = false;
    const over = ending.finally(() => {
      isOver = true;
    });
    await settleMicrotasks();
    while (!isOver) await this.clock.advance(1);
    await over;
  }

  /** The session with the worker comes back. */
  reconnect(workerId: string): void {
    this.#leader?.fleet.connect(workerId);
  }

  /** `places` are `f0@w1`, or `f0@w1!` for a fragment that is pinned. */
  async create(
    query_id: string,
    places: readonly string[],
    { is_preview = 0 }: Partial<Pick<QueryRow, "is_preview">> = {},
  ): Promise<void> {
    const row = queryRow({
      query_id,
      name: query_id,
      name_key: query_id.toUpperCase(),
      state: "PENDING",
      previous_state: "NONE",
      is_preview,
    });
    await this.store.catalogTransaction(async (tx) => {
      await tx.insert("queries", { ...row, state_changed_at_ms: await tx.nowMs() });
      for (const place of places) {
        const [fragment = "", worker = ""] = place.replace("!", "").split("@");
        const is_pinned = place.endsWith("!") ? 1 : 0;
        await insertFragment(tx, { query_id, fragment, worker_id: worker, is_pinned, epoch: 1 });
      }
    });
  }

  /** `query_id` takes the place of `older`, as CREATE OR REPLACE says it. */
  async replace(older: string, query_id: string, places: readonly string[]): Promise<void> {
    await this.store.catalogTransaction(async (tx) => {
      const row = await tx.db
        .selectFrom("queries")
        .selectAll()
        .where("query_id", "=", older)
        .executeTakeFirstOrThrow();
      const stop_mode = row.stop_mode ?? "HARD";
      const patch = { desired_state: "STOPPED", stop_mode, superseded_by: older } as const;
      await tx.update("queries", older, patch);
      const { name, name_key, guarantee } = row;
      await insertQuery(tx, { query_id, name, name_key, guarantee });
      await tx.update("queries", older, { superseded_by: query_id });
      const held = await tx.db
        .selectFrom("query_fragments")
        .select("worker_id")
        .where("query_id", "=", older)
        .where("holds_slot", "=", 1)
        .execute();
      const left = held.map(({ worker_id }) => worker_id);
      for (const place of places) {
        const [fragment = "", worker_id = ""] = place.replace("!", "").split("@");
        const is_pinned = place.endsWith("!") ? 1 : 0;
        const at = left.indexOf(worker_id);
        if (at >= 0) left.splice(at, 1);
        const insert = at >= 0 ? insertHeir : insertFragment;
        await insert(tx, { query_id, fragment, worker_id, is_pinned, epoch: 1 });
      }
    });
  }

  async drop(queryId: string, stop_mode: StopMode): Promise<void> {
    await this.store.catalogTransaction((tx) =>
      tx.update("queries", queryId, { desired_state: "STOPPED", stop_mode }),
    );
  }

  async want(queryId: string, desired_state: "PAUSED" | "RUNNING"): Promise<void> {
    await this.store.catalogTransaction((tx) => tx.update("queries", queryId, { desired_state }));
  }

  async askForSavepoint(queryId: string): Promise<void> {
    await this.store.catalogTransaction(async (tx) => {
      const { savepoints_asked } = await tx.db
        .selectFrom("queries")
        .select("savepoints_asked")
        .where("query_id", "=", queryId)
        .executeTakeFirstOrThrow();
      await tx.update("queries", queryId, { savepoints_asked: savepoints_asked + 1 });
    });
  }

  async query(queryId: string): Promise<QueryRow | undefined> {
    return await this.store.read(({ db }) =>
      db.selectFrom("queries").selectAll().where("query_id", "=", queryId).executeTakeFirst(),
    );
  }

  async queries(): Promise<readonly QueryRow[]> {
    return await this.store.read(({ db }) => db.selectFrom("queries").selectAll().execute());
  }

  async fragments(): Promise<readonly FragmentRow[]> {
    return await this.store.read(({ db }) =>
      db.selectFrom("query_fragments").selectAll().orderBy("fragment_id").execute(),
    );
  }

  /** The states that the query went through. */
  async history(queryId: string): Promise<readonly string[]> {
    const rows = await this.store.read(({ db }) =>
      db
        .selectFrom("query_history")
        .select(["to_state", "number"])
        .where("query_id", "=", queryId)
        .orderBy("number")
        .execute(),
    );
    return rows.map(({ to_state }) => to_state ?? "gone");
  }

  /** Why it was deployed in each epoch but the first. */
  async recoveries(queryId: string): Promise<readonly string[]> {
    const rows = await this.store.read(({ db }) =>
      db
        .selectFrom("query_history")
        .select(["reason", "epoch", "to_state"])
        .where("query_id", "=", queryId)
        .where("epoch", ">", 1)
        .where("to_state", "=", "DEPLOYING")
        .orderBy("number")
        .execute(),
    );
    return rows.map(({ reason }) => reason);
  }

  /** Complete checkpoints with their epochs. */
  async checkpoints(queryId: string): Promise<readonly (readonly number[])[]> {
    const rows = await this.store.read(({ db }) =>
      db
        .selectFrom("query_checkpoints")
        .select(["checkpoint", "epoch"])
        .where("query_id", "=", queryId)
        .orderBy("checkpoint")
        .execute(),
    );
    return rows.map(({ checkpoint, epoch }) => [checkpoint, epoch]);
  }

  async slotsUsed(): Promise<Readonly<Record<string, number>>> {
    const rows = await this.store.read(({ db }) =>
      db.selectFrom("stream_workers").selectAll().orderBy("worker_id").execute(),
    );
    return Object.fromEntries(rows.map(({ worker_id, slots_used }) => [worker_id, slots_used]));
  }

  /** As people drain a worker, and end its drain. */
  async drain(workerId: string, drain_requested: 0 | 1): Promise<void> {
    await this.store.catalogTransaction((tx) =>
      tx.update("workers", workerId, { drain_requested }),
    );
  }

  /** The end of sources reaches the fragments on other workers a moment later. */
  #follow(stopped: ModelWorker, query: string, epoch: number): void {
    this.clock.after(endMs, () => {
      for (const worker of this.workers.values()) {
        if (worker !== stopped) worker.endOf(query, epoch);
      }
    });
  }

  #plan(): Plan {
    const settings = { ...modelSettings, ...this.settings };
    return { version: 1, nodes: this.nodes, settings } as unknown as Plan;
  }

  async #takers({ db }: Tx, lost: readonly string[]): Promise<readonly string[]> {
    const rows = await db
      .selectFrom("workers")
      .select("worker_id")
      .where("drain_requested", "=", 0)
      .execute();
    return rows.flatMap(({ worker_id }) =>
      this.workers.get(worker_id)?.isUp === true && !lost.includes(worker_id) ? worker_id : [],
    );
  }
}

function oneOf([first]: readonly string[]): string {
  if (first !== undefined) return first;
  throw new OperatingError("PlacementError", "backoff", "no worker takes fragments");
}
