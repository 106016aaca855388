/** Rounds of refreshes, scheduled and worked off, on every database. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { openFresh, type StoreFixture } from "../../../ground/store/testing/store-fixture.ts";
import { expire } from "./claims.contract.ts";
import { readNeededSnapshots } from "./needed-snapshots.ts";
import { hourMs, items, orders, TablesFixture, tableId } from "./testing/tables-fixture.ts";

export function testSchedule(fixture: StoreFixture): void {
  const open = async (t: TestContext): Promise<TablesFixture> => {
    const { store } = await openFresh(fixture, t);
    return new TablesFixture(store);
  };

  describe("rounds", () => {
    test("[TS4, TS5] upstream first, whoever asks, and all at one snapshot", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders], 11: [10], 12: [11], 20: [items] }, notByItself);
      await tables.request(12);
      const snapshot = await tables.schedule();
      assert.deepEqual(await tables.work(), [10, 11, 12], "20 has nothing to do with it");
      for (const id of [10, 11, 12]) assert.equal((await tables.row(id)).data_snapshot, snapshot);
    });

    test("[TS6] a diamond whose source changes in between is of one snapshot", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders], 11: [orders], 12: [10, 11, orders] });
      await tables.schedule();
      const first = await tables.claimOne();
      await tables.publish(first);
      await tables.lake.write(orders);
      await tables.work();
      assert.equal(await content(tables, 12), "(1.0 (1.0) (1.0))");
    });

    test("[TS6, TS7] a table that goes on meanwhile does not take its readers' snapshot away", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders], 11: [orders], 12: [10, 11] });
      await tables.schedule();
      await tables.work();
      const written = await tables.lake.write(orders);
      await tables.request(12);
      const snapshot = await tables.schedule();
      assert.equal(snapshot, written);
      const slow = await tables.claimOne("slow");
      assert.equal(slow.tableId, 10);
      const quick = await tables.claimOne("quick");
      assert.equal(quick.tableId, 11);
      await tables.publish(quick);
      for (let round = 0; round < 2; round += 1) {
        await tables.lake.write(orders);
        await tables.request(11);
        await tables.schedule();
        assert.deepEqual(await tables.work("quick"), [11], "11 goes on, 12 waits for 10");
      }
      await tables.publish(slow);
      const reader = await tables.claimOne();
      assert.equal(reader.tableId, 12);
      await tables.publish(reader);
      assert.equal(await content(tables, 12), `((1.${written}) (1.${written}))`);
      assert.equal((await tables.row(12)).data_snapshot, snapshot);
      const versions = await tables.store.read(({ db }) =>
        db
          .selectFrom("dynamic_table_versions")
          .select("data_snapshot")
          .where("table_id", "=", 11)
          .execute(),
      );
      assert.equal(
        versions.length,
        2,
        "what 12 had to read, until 11 is next published, and the newest",
      );
    });

    test("[TS7] a table that is busy with an older snapshot reaches the newer one next", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders] });
      await tables.create({ 11: [10] }, notByItself);
      const first = await tables.schedule();
      const busy = await tables.claimOne();
      await tables.lake.write(orders);
      await tables.request(11);
      const second = await tables.schedule();
      await tables.lake.write(orders);
      await tables.publish(busy);
      assert.equal((await tables.row(10)).data_snapshot, first);
      assert.equal((await tables.row(10)).target_snapshot, second);
      assert.deepEqual(await tables.work(), [10, 11]);
      assert.equal((await tables.row(11)).data_snapshot, second);
    });

    test("[TS8] sources that are as they were: NO_DATA at once, along the whole chain, without a worker", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders], 11: [10, items] });
      await tables.schedule();
      await tables.work();
      const before = await tables.row(11);
      await tables.request(11);
      const snapshot = await tables.schedule();
      assert.deepEqual(await tables.work(), []);
      for (const id of [10, 11]) {
        const row = await tables.row(id);
        assert.deepEqual([row.data_snapshot, row.last_refresh_action], [snapshot, "NO_DATA"]);
      }
      const after = await tables.row(11);
      assert.ok((after.data_time_ms ?? 0) > (before.data_time_ms ?? 0));
      assert.equal(after.published_snapshot, before.published_snapshot);
      await tables.lake.write(items);
      await tables.request(11);
      await tables.schedule();
      assert.deepEqual(await tables.work(), [11], "10 reads none of what changed");
    });

    test("[TS8, TS11] NO_DATA does not swallow a request of the same moment", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders] }, { targetLag: { kind: "time", ms: 5 } });
      await tables.schedule();
      await tables.work();
      await tables.passMs(60);
      await tables.request(10);
      const { requested_at_ms } = await tables.row(10);
      await tables.schedule(undefined, requested_at_ms ?? 0);
      const row = await tables.row(10);
      assert.deepEqual([row.last_refresh_action, row.data_time_ms], ["NO_DATA", requested_at_ms]);
      await tables.lake.write(orders);
      await tables.schedule();
      const claim = await tables.claimOne();
      assert.equal(claim.trigger, "MANUAL");
    });

    test("[TS8] volatile definitions are computed although nothing changed", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders] }, { isVolatile: true });
      await tables.schedule();
      await tables.work();
      await tables.request(10);
      await tables.schedule();
      assert.deepEqual(await tables.work(), [10]);
    });

    test("[TS10] targets that nobody came for are replaced by newer ones, and no request is lost", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders], 11: [10] });
      const old = await tables.schedule();
      const snapshot = await tables.lake.write(orders);
      await tables.schedule();
      assert.equal((await tables.row(11)).target_snapshot, old, "it is early yet");
      await tables.passMs(2);
      await tables.schedule({ targetIdleMsMax: 1 });
      assert.equal((await tables.row(10)).target_snapshot, snapshot);
      assert.equal((await tables.row(11)).target_snapshot, snapshot);
      assert.deepEqual(await tables.work(), [10, 11]);
    });

    test("[TS10] what somebody works on is not replaced", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders], 11: [orders] });
      await tables.create({ 12: [10, 11] });
      const old = await tables.schedule();
      const claim = await tables.claimOne();
      assert.equal(claim.tableId, 10);
      const snapshot = await tables.lake.write(orders);
      await tables.passMs(2);
      await tables.schedule({ targetIdleMsMax: 1 });
      assert.equal((await tables.row(10)).target_snapshot, old);
      assert.equal((await tables.row(11)).target_snapshot, snapshot);
      await tables.publish(claim);
      await tables.work();
      for (const id of [10, 11, 12]) assert.equal((await tables.row(id)).data_snapshot, snapshot);
      assert.equal(await content(tables, 12), `((1.${snapshot}) (1.${snapshot}))`);
    });

    test("[TS16] what the next refresh reads is known, so that the lake keeps it", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders], 11: [10] });
      const needed = async (): Promise<string[]> => {
        const found = await tables.store.read(readNeededSnapshots);
        return found.map(({ cursor }) => cursor);
      };
      assert.deepEqual(await needed(), []);
      await tables.schedule();
      assert.deepEqual(await needed(), ["dynamic-table/10/1/1"]);
      await tables.work(); // 10 is published at 2, 11 at 3.
      await tables.lake.write(orders);
      await tables.request(11);
      await tables.schedule();
      await tables.publish(await tables.claimOne()); // 10 is as of 4, and published at 5.
      assert.deepEqual(await needed(), [
        "dynamic-table/10/1/4",
        "dynamic-table/11/10/2",
        "dynamic-table/11/10/5",
      ]);
      await tables.work();
      assert.deepEqual(await needed(), ["dynamic-table/10/1/4", "dynamic-table/11/10/5"]);
    });

    test("[TS12] a missed target lag is counted once, and over when the table is fresh again", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders] }, { targetLag: { kind: "time", ms: 5 } });
      await tables.passMs(8);
      await tables.schedule();
      await tables.schedule();
      const late = await tables.row(10);
      assert.equal(late.lag_missed_count, 1);
      assert.equal(late.late_since_ms, late.created_at_ms + 5);
      await tables.store.catalogTransaction((tx) =>
        tx.update("dynamic_tables", "t10", { target_lag_ms: hourMs }),
      );
      await tables.work();
      await tables.schedule();
      assert.equal((await tables.row(10)).late_since_ms, null);
    });

    test("[TS5, TC13] a chain whose workers die at every step is fresh in the end", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders], 11: [10], 12: [11] });
      const snapshot = await tables.schedule();
      for (const id of [10, 11, 12]) {
        const dead = await tables.claimOne("dead");
        assert.equal(dead.tableId, id);
        await expire(tables);
        await tables.publish(await tables.claimOne("alive"));
        assert.equal(await tables.publish(dead), "claim_lost");
      }
      assert.equal((await tables.row(12)).data_snapshot, snapshot);
    });
  });
}

const notByItself = { initialize: "ON_SCHEDULE", targetLag: { kind: "downstream" } } as const;

async function content(tables: TablesFixture, id: number): Promise<string> {
  const { snapshot } = await tables.lake.current();
  return tables.lake.at(tableId(id), snapshot);
}
