/** Definitions and their graph, on every database. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { sql } from "kysely";
import { watch } from "../../../ground/store/index.ts";
import { makeOlderSchemaDir } from "../../../ground/store/testing/schema-dirs.ts";
import {
  openFresh,
  openOn,
  type StoreFixture,
} from "../../../ground/store/testing/store-fixture.ts";
import type { ClaimSettings } from "./claim-settings.ts";
import { failure } from "./claims.contract.ts";
import {
  createDynamicTable,
  dropDynamicTable,
  moveReaders,
  readDynamicTables,
  readersOf,
  replaceDynamicTable,
  requireUnread,
  setRefreshMode,
  setTargetLag,
} from "./definitions.ts";
import { readBacklog, readOverview } from "./overview.ts";
import { readSourceColumns } from "./table-rows.ts";
import {
  definition,
  hourMs,
  items,
  orders,
  TablesFixture,
  tableId,
} from "./testing/tables-fixture.ts";

export function testDefinitions(fixture: StoreFixture): void {
  const open = async (
    t: TestContext,
    settings: Partial<ClaimSettings> = {},
  ): Promise<TablesFixture> => {
    const { store } = await openFresh(fixture, t);
    return new TablesFixture(store, settings);
  };

  describe("definitions", () => {
    test("[TG1] a name is taken once; what was created is there with all that was said", async (t) => {
      const tables = await open(t);
      const first = await tables.store.catalogTransaction((tx) =>
        createDynamicTable(
          tx,
          definition(10, [orders, items], { schema: "sales", name: "odd.one" }),
        ),
      );
      assert.deepEqual(await tables.store.read(readDynamicTables), [first]);
      assert.deepEqual(first.sources, [orders, items]);
      assert.equal(first.status, "INITIALIZING");
      assert.equal((await tables.row(10)).dynamic_table, 'sales."odd.one"');
      const again = tables.store.catalogTransaction((tx) =>
        createDynamicTable(tx, definition(11, [orders], { schema: "sales", name: "odd.one" })),
      );
      await assert.rejects(again, { code: "already_exists", hint: /OR REPLACE/ });
    });

    test("[TG2] a cycle is refused with the names along it", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders], 11: [10], 12: [11] });
      const replacing = tables.store.catalogTransaction((tx) =>
        replaceDynamicTable(tx, tableId(10), definition(10, [orders, 12]), undefined),
      );
      await assert.rejects(replacing, {
        code: "bad_request",
        message: "t10 would read itself: t10 reads t12 reads t11 reads t10",
      });
      const self = tables.store.catalogTransaction((tx) =>
        createDynamicTable(tx, definition(13, [13])),
      );
      await assert.rejects(self, { message: "t13 would read itself: t13 reads t13" });
    });

    test("[TG3] what others read is not dropped, and the error names them", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders], 11: [10], 12: [10, orders] });
      const dropping = tables.store.catalogTransaction((tx) => dropDynamicTable(tx, tableId(10)));
      await assert.rejects(dropping, {
        code: "reference_violated",
        message: "t10 is read by t11, t12",
      });
      const plain = tables.store.read((tx) => requireUnread(tx, orders, "orders"));
      await assert.rejects(plain, { message: "orders is read by t10, t12" });
      await tables.schedule();
      await tables.work();
      for (const id of [11, 12, 10]) {
        await tables.store.catalogTransaction((tx) => dropDynamicTable(tx, tableId(id)));
      }
      assert.deepEqual(await tables.store.read(readDynamicTables), []);
      await tables.store.read((tx) => requireUnread(tx, orders, "orders"));
    });

    test("[TG3, TC17] dropped while it is refreshed: the claim is lost", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders] });
      await tables.schedule();
      const claim = await tables.claimOne();
      await tables.store.catalogTransaction((tx) => dropDynamicTable(tx, tableId(10)));
      assert.equal(await tables.publish(claim), "claim_lost");
    });

    test("[TG4] OR REPLACE keeps name and readers; its contents come anew, then theirs", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders], 11: [10] });
      await tables.schedule();
      const claim = await tables.claimOne();
      const columns = {
        before: [column("a", "BIGINT")],
        after: [column("a", "BIGINT"), column("b")],
      };
      const replaced = await tables.store.catalogTransaction((tx) =>
        replaceDynamicTable(tx, tableId(10), definition(10, [items]), columns),
      );
      assert.deepEqual(replaced.sources, [items]);
      assert.equal(await tables.publish(claim), "claim_lost");
      assert.deepEqual(await tables.store.read((tx) => readersOf(tx, tableId(10))), ["t11"]);
      await tables.schedule();
      assert.deepEqual(await tables.work(), [10, 11]);
    });

    test("[TG4] OR REPLACE is refused when columns that others read would change", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders], 11: [10] });
      const columns = {
        before: [column("a", "BIGINT"), column("b"), column("c")],
        after: [column("A", "INTEGER"), column("c")],
      };
      const replacing = tables.store.catalogTransaction((tx) =>
        replaceDynamicTable(tx, tableId(10), definition(10, [items]), columns),
      );
      await assert.rejects(replacing, {
        code: "reference_violated",
        message: "t10 is read by t11: a would be INTEGER instead of BIGINT; b would be gone",
      });
      await tables.store.catalogTransaction((tx) =>
        replaceDynamicTable(tx, tableId(11), definition(11, [10]), columns),
      );
    });

    test("[TG4] a replacement under another id takes the readers along, who read it whole", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders], 11: [10] });
      await tables.schedule();
      await tables.work();
      await tables.store.catalogTransaction((tx) =>
        replaceDynamicTable(tx, tableId(10), definition(30, [items], { name: "t10" }), undefined),
      );
      assert.deepEqual(await tables.store.read((tx) => readersOf(tx, tableId(30))), ["t11"]);
      await tables.request(11);
      await tables.schedule();
      const first = await tables.claimOne();
      assert.equal(first.tableId, 30);
      await tables.publish(first);
      const second = await tables.claimOne();
      assert.deepEqual(
        second.sources.map(({ tableId: id, from }) => [id, from]),
        [[30, undefined]],
      );
      await tables.store.catalogTransaction((tx) => moveReaders(tx, items, tableId(77)));
      assert.deepEqual(await tables.store.read((tx) => readersOf(tx, tableId(77))), ["t10"]);
    });

    test("[TG4, TC17] who computes from a table that was replaced under another id loses the claim", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders], 11: [10] });
      await tables.schedule();
      const claim = await tables.claimOne();
      await tables.store.catalogTransaction((tx) => moveReaders(tx, orders, tableId(77)));
      assert.equal(await tables.publish(claim), "claim_lost");
      await tables.schedule();
      const again = await tables.claimOne();
      assert.deepEqual(
        again.sources.map(({ tableId: id, from }) => [id, from]),
        [[77, undefined]],
      );
      await tables.publish(again);
      assert.deepEqual(await tables.work(), [11], "no request was lost");
    });

    test("[TG7] ALTER changes the lag and the mode; the overview shows what there is to see", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders] }, { targetLag: { kind: "downstream" } });
      await tables.create({ 11: [10] });
      await tables.schedule();
      const claim = await tables.claimOne("w9");
      await tables.store.catalogTransaction(async (tx) => {
        await setTargetLag(tx, tableId(11), { kind: "time", ms: 60_000 });
        const choice = { modeWish: "FULL", mode: "FULL", modeReason: "as asked" } as const;
        await setRefreshMode(tx, tableId(11), choice);
      });
      const [first, second] = await tables.store.read(readOverview);
      assert.deepEqual(
        [first?.activity, first?.refreshedBy, first?.effectiveLagMs, first?.nextDueMs],
        ["refreshing", "w9", 60_000, undefined],
      );
      assert.deepEqual([second?.activity, second?.modeReason], ["queued", "as asked"]);
      assert.ok((second?.nextDueMs ?? 0) > 0);
      const backlog = await tables.store.read(readBacklog);
      assert.deepEqual([backlog.pendingRefreshCount, backlog.claimedCount], [1, 1]);
      assert.equal(backlog.blockedCounts.source_behind, 1);
      assert.deepEqual(backlog.statusCounts, {
        INITIALIZING: 2,
        ACTIVE: 0,
        SUSPENDED: 0,
        FAILED: 0,
      });
      const lags = backlog.lags.map(({ dynamicTable, targetLagSeconds }) => [
        dynamicTable,
        targetLagSeconds,
      ]);
      assert.deepEqual(lags, [["t11", 60]]);
      await tables.publish(claim);
      await tables.work();
      const idle = await tables.store.read(readBacklog);
      assert.deepEqual([idle.pendingRefreshCount, idle.refreshBacklogSeconds], [0, 0]);
    });

    test("[TG11] pending is what workers can do; what waits for something else is told apart", async (t) => {
      const tables = await open(t, { backoff: { minMs: hourMs, maxMs: hourMs } });
      const counts = async () => {
        const { pendingRefreshCount, blockedCounts } = await tables.store.read(readBacklog);
        const blocked = Object.entries(blockedCounts).filter(([, count]) => count > 0);
        return [pendingRefreshCount, Object.fromEntries(blocked)];
      };
      await tables.create({ 10: [orders], 11: [10], 20: [orders] });
      assert.deepEqual(await counts(), [0, { unscheduled: 3 }]);
      await tables.schedule();
      assert.deepEqual(await counts(), [2, { source_behind: 1 }]);
      const [first, other] = await tables.claim("w1", 2);
      assert.ok(first?.tableId === 10 && other !== undefined);
      assert.deepEqual(
        await counts(),
        [2, { source_behind: 1 }],
        "what is under way needs its worker",
      );
      await tables.claims.fail(other, failure);
      assert.deepEqual(await counts(), [1, { source_behind: 1, backing_off: 1 }]);
      await tables.claims.fail(first, { ...failure, code: "bad_sql", isPermanent: true });
      assert.deepEqual(
        await counts(),
        [0, { source_stopped: 1, backing_off: 1 }],
        "scales to zero",
      );
      assert.equal((await tables.store.read(readBacklog)).refreshBacklogSeconds, 0);
    });

    test("[TG13] setup gives tables of an older version the columns that their sources had then", async (t) => {
      if (!fixture.isShared) return t.skip("nothing outlives its process");
      const place = await fixture.createPlace();
      const schemaDir = makeOlderSchemaDir(9);
      await place.setup({ schemaDir });
      const older = await place.open({ schemaDir });
      const table = (id: number, begin: number) =>
        sql`INSERT INTO ducklake_table (table_id, table_uuid, begin_snapshot, schema_id, table_name, path, path_is_relative)
            VALUES (${id}, ${`u${id}`}, ${begin}, 0, ${`t${id}`}, '', 1)`;
      const columnOf = (id: number, of: number, name: string, begin: number, end: number | null) =>
        sql`INSERT INTO ducklake_column (column_id, begin_snapshot, end_snapshot, table_id, column_order, column_name, column_type, nulls_allowed)
            VALUES (${id}, ${begin}, ${end}, ${of}, ${id}, ${name}, 'int32', 1)`;
      const reader = (id: number, source: number) => [
        sql`INSERT INTO dynamic_tables (dynamic_table, table_id, schema_name, name, definition, mode_wish, mode, mode_reason, is_volatile, status,
                                        status_reason, wait_reason, lag_missed_count, failures_in_a_row, part_count, part_done_count,
                                        expected_duration_ms, created_at_ms)
            VALUES (${`t${id}`}, ${id}, 'main', ${`t${id}`}, 'FROM t', 'AUTO', 'FULL', '', 0, 'FAILED', '', '', 0, 0, 0, 0, 0, 0)`,
        sql`INSERT INTO dynamic_table_sources (table_id, source_table_id) VALUES (${id}, ${source})`,
      ];
      await older.transaction(async ({ db }) => {
        const rows = [
          ...[table(1, 1), table(2, 9), table(10, 3), table(11, 6), table(12, 6)],
          ...[columnOf(1, 1, "id", 1, null), columnOf(2, 1, "note", 1, 5)],
          ...[columnOf(2, 1, "remark", 5, null), columnOf(3, 1, "extra", 4, null)],
          ...[columnOf(4, 1, "gone", 5, 7), columnOf(5, 1, "last", 7, null)],
          ...[columnOf(1, 2, "a", 9, null), columnOf(2, 2, "b", 9, null)],
          ...[...reader(10, 1), ...reader(11, 1), ...reader(12, 2)],
        ];
        for (const row of rows) await row.execute(db);
      });
      await older.close();
      await place.setup();
      const store = await openOn(place, t);
      const known = async (id: number) =>
        [...(await store.read((tx) => readSourceColumns(tx, id))).values()].flat();
      assert.deepEqual(await known(10), ["id", "remark"]);
      assert.deepEqual(await known(11), ["id", "remark", "extra"]);
      assert.deepEqual(await known(12), ["a", "b"], "its source replaced another");
    });

    test("[TG8] WATCH DYNAMIC TABLES: a snapshot, then what happens to each table", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders] });
      const stop = new AbortController();
      const columns = ["status", "target_snapshot", "data_snapshot"];
      const events = watch(tables.store, { table: "dynamic_tables", columns, signal: stop.signal });
      const next = async (): Promise<unknown> => {
        const { value } = await events.next();
        return value?.data;
      };
      const row = { dynamic_table: "t10", status: "INITIALIZING", data_snapshot: null };
      assert.deepEqual(await next(), [{ ...row, target_snapshot: null }]);
      await tables.schedule();
      assert.deepEqual(await next(), { ...row, target_snapshot: 1 });
      await tables.work();
      assert.deepEqual(await next(), {
        ...row,
        status: "ACTIVE",
        target_snapshot: null,
        data_snapshot: 1,
      });
      stop.abort();
      await events.return(undefined);
    });
  });
}

function column(name: string, type = "VARCHAR"): { readonly name: string; readonly type: string } {
  return { name, type };
}
