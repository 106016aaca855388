/** Definitions and the graph that they make, on every database. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { watch } from "../../store/index.ts";
import { openFresh, type StoreFixture } from "../../store/testing/store-fixture.ts";
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
import { definition, items, orders, TablesFixture, tableId } from "./testing/tables-fixture.ts";

export function testDefinitions(fixture: StoreFixture): void {
  const open = async (t: TestContext): Promise<TablesFixture> => {
    const { store } = await openFresh(fixture, t);
    return new TablesFixture(store);
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
      assert.deepEqual([backlog.pendingRefreshCount, backlog.claimedCount], [2, 1]);
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
