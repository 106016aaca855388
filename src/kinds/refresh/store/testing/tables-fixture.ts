/** A store with a lake and dynamic tables, driven step by step. */

import { setTimeout } from "node:timers/promises";
import type { SnapshotId, TableId } from "../../../../data/lake/core/index.ts";
import { createPrng } from "../../../../ground/kernel/prng.ts";
import type { Store } from "../../../../ground/store/index.ts";
import {
  type ClaimedRefresh,
  decideRefreshes,
  type PublishOutcome,
  type ScheduleOptions,
} from "../../core/index.ts";
import type { DynamicTablesTable } from "../../core/tables.ts";
import type { ClaimSettings } from "../claim-settings.ts";
import { createDynamicTable, requestRefresh, type TableDefinition } from "../definitions.ts";
import { applyDecision, readScheduledTables } from "../schedule-state.ts";
import { askForChanges } from "../source-changes.ts";
import { StoreRefreshClaims } from "../store-refresh-claims.ts";
import { TestLake } from "./test-lake.ts";

export const orders = 1 as TableId;
export const items = 2 as TableId;

export function tableId(id: number): TableId {
  return id as TableId;
}

/** The default target lag: never due within a test. */
export const hourMs = 3_600_000;

export function definition(
  id: number,
  sources: readonly number[],
  changes: Partial<TableDefinition> = {},
): TableDefinition {
  return {
    tableId: tableId(id),
    schema: "main",
    name: `t${id}`,
    definition: `SELECT ${id}`,
    targetLag: { kind: "time", ms: hourMs },
    modeWish: "AUTO",
    mode: "FULL",
    modeReason: "test",
    isVolatile: false,
    sources: sources.map(tableId),
    initialize: "ON_CREATE",
    ...changes,
  };
}

export class TablesFixture {
  readonly store: Store;
  readonly lake: TestLake;
  readonly claims: StoreRefreshClaims;

  constructor(store: Store, settings: Partial<ClaimSettings> = {}, lake = new TestLake(store)) {
    this.store = store;
    this.lake = lake;
    this.claims = this.claimsWith(settings);
  }

  claimsWith(settings: Partial<ClaimSettings>): StoreRefreshClaims {
    return new StoreRefreshClaims(this.store, { prng: createPrng("claims"), ...settings });
  }

  /** Creates tables by id, with their sources. Each is filled at once. */
  async create(
    graph: Readonly<Record<number, readonly number[]>>,
    changes: Partial<TableDefinition> = {},
  ): Promise<void> {
    for (const [id, sources] of Object.entries(graph)) {
      await this.store.catalogTransaction((tx) =>
        createDynamicTable(tx, definition(Number(id), sources, changes)),
      );
    }
  }

  async request(id: number): Promise<void> {
    await this.store.catalogTransaction((tx) => requestRefresh(tx, tableId(id)));
  }

  /** One look of the scheduler, late enough that every request so far counts. */
  async schedule(options?: ScheduleOptions, atMs?: number): Promise<SnapshotId> {
    const nowMs = atMs ?? (await this.nowMs()) + 1;
    const { snapshot } = await this.lake.current();
    const tables = await this.store.read(readScheduledTables);
    const changes = await askForChanges(this.lake, tables, snapshot);
    await this.store.catalogTransaction(async (tx) => {
      const state = { tables: await readScheduledTables(tx), snapshot, ...changes };
      const decision = decideRefreshes(state, nowMs, options);
      await applyDecision(tx, decision, {
        snapshot,
        timeMs: nowMs,
        historyRows: 500,
        pins: undefined,
      });
    });
    return snapshot;
  }

  async claim(workerId: string, limit = 1): Promise<readonly ClaimedRefresh[]> {
    return (await this.claims.claim({ workerId, limit })).claimed;
  }

  async claimOne(workerId = "w1"): Promise<ClaimedRefresh> {
    const [claim] = await this.claim(workerId);
    if (claim === undefined) throw new Error("there is nothing to claim");
    return claim;
  }

  async publish(claim: ClaimedRefresh): Promise<PublishOutcome["kind"]> {
    return (await this.claims.publish(claim, this.lake.refreshed(claim))).kind;
  }

  /** Claims and publishes until nothing is left. Returns the tables in that order. */
  async work(workerId = "w1"): Promise<number[]> {
    const done: number[] = [];
    for (;;) {
      const [claim] = await this.claim(workerId);
      if (claim === undefined) return done;
      await this.publish(claim);
      done.push(claim.tableId);
    }
  }

  async row(id: number): Promise<DynamicTablesTable> {
    return await this.store.read(({ db }) =>
      db
        .selectFrom("dynamic_tables")
        .selectAll()
        .where("table_id", "=", id)
        .executeTakeFirstOrThrow(),
    );
  }

  async nowMs(): Promise<number> {
    return await this.store.catalogTransaction((tx) => tx.nowMs());
  }

  /** Waits until the database's clock has advanced by `ms`. */
  async passMs(ms: number): Promise<void> {
    const untilMs = (await this.nowMs()) + ms;
    while ((await this.nowMs()) < untilMs) await setTimeout(1);
  }
}
