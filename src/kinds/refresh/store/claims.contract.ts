/** The claim protocol, on every database. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { sql } from "kysely";
import {
  openFresh,
  openOn,
  type StoreFixture,
} from "../../../ground/store/testing/store-fixture.ts";
import type { ClaimSettings } from "./claim-settings.ts";
import { suspendTable } from "./suspension.ts";
import { spawnWorker } from "./testing/spawn-worker.ts";
import { hourMs, orders, TablesFixture, tableId } from "./testing/tables-fixture.ts";

export function testClaims(fixture: StoreFixture): void {
  const open = async (
    t: TestContext,
    settings: Partial<ClaimSettings> = {},
  ): Promise<TablesFixture> => {
    const { store } = await openFresh(fixture, t);
    return new TablesFixture(store, settings);
  };

  describe("claims", () => {
    test("[TC1, TC2] many ask at once: every refresh goes to one, with a token of its own", async (t) => {
      const { store, place } = await openFresh(fixture, t);
      const tables = new TablesFixture(store);
      const ids = Array.from({ length: 12 }, (_, index) => index + 10);
      await tables.create(Object.fromEntries(ids.map((id) => [id, [orders]])));
      await tables.schedule();
      const others = fixture.isShared
        ? await Promise.all([openOn(place, t), openOn(place, t)])
        : [store, store];
      const workers = [store, ...others].map((other) => new TablesFixture(other, {}, tables.lake));
      const claimed = await Promise.all(
        workers.flatMap((worker, index) =>
          Array.from({ length: 6 }, () => worker.claim(`w${index}`)),
        ),
      );
      const granted = claimed.flat();
      assert.deepEqual(
        granted.map((claim) => claim.tableId).sort((a, b) => a - b),
        ids,
      );
      assert.equal(new Set(granted.map(({ token }) => token)).size, ids.length);
    });

    if (fixture.isShared) {
      test("[TC1, TC2] two processes race: nothing is done twice, and no token is given twice", async (t) => {
        const { store, place } = await openFresh(fixture, t);
        const tables = new TablesFixture(store);
        const ids = Array.from({ length: 30 }, (_, index) => index + 10);
        await tables.create(Object.fromEntries(ids.map((id) => [id, [orders]])));
        await tables.schedule();
        const children = ["w1", "w2"].map((name) => spawnWorker(t, place.url, name));
        for (const child of children) await child.expect("ready");
        for (const child of children) child.go();
        const said = (await Promise.all(children.map((child) => child.until("done")))).flat();
        const pairs = said.map((line) => line.split(" ").map(Number));
        assert.deepEqual(
          pairs.map(([id = 0]) => id).sort((a, b) => a - b),
          ids,
        );
        assert.equal(new Set(pairs.map(([, token]) => token)).size, ids.length);
        assert.equal((await tables.row(10)).status, "ACTIVE");
      });
    }

    test("[TC2] a token is greater than every one before, of any table, whatever became of it", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders], 11: [orders] });
      await tables.schedule();
      const first = await tables.claimOne();
      await tables.claims.release(first, "test");
      const second = await tables.claimOne();
      await tables.publish(second);
      const third = await tables.claimOne();
      assert.ok(first.token < second.token && second.token < third.token);
    });

    test("[TC3] by priority, then by due time, then by name", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders], 11: [orders], 12: [orders], 13: [orders] });
      await tables.schedule();
      await setPending(tables, 10, { priority: 0, next_refresh_due_ms: 5 });
      await setPending(tables, 11, { priority: 0, next_refresh_due_ms: 4 });
      await setPending(tables, 12, { priority: 7, next_refresh_due_ms: 9 });
      await setPending(tables, 13, { priority: 0, next_refresh_due_ms: 5 });
      const claimed = await tables.claim("w1", 3);
      assert.deepEqual(
        claimed.map((claim) => claim.tableId),
        [12, 11, 10],
      );
      assert.deepEqual(await tables.work(), [13]);
    });

    test("[TC4] what is claimed, backs off, waits for a source or is suspended is passed over", async (t) => {
      const tables = await open(t, { backoff: { minMs: hourMs, maxMs: hourMs } });
      await tables.create({ 10: [orders], 11: [10], 12: [orders], 13: [orders] });
      await tables.schedule();
      await tables.store.catalogTransaction((tx) => suspendTable(tx, tableId(13), "by hand"));
      const first = await tables.claimOne();
      assert.equal(first.tableId, 10);
      const second = await tables.claimOne();
      assert.equal(second.tableId, 12);
      await tables.claims.fail(second, failure);
      assert.deepEqual(await tables.claim("w2", 9), []);
      await tables.publish(first);
      assert.deepEqual(await tables.work("w2"), [11]);
    });

    test("[TC5] a heartbeat extends the claim, for its holder alone", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders] });
      await tables.schedule();
      const claim = await tables.claimOne();
      assert.equal(await tables.claims.heartbeat(claim), true);
      assert.equal(await tables.claims.heartbeat({ ...claim, workerId: "w2" }), false);
      assert.equal(await tables.claims.heartbeat({ ...claim, token: claim.token + 1 }), false);
      await expire(tables);
      assert.equal(await tables.claims.heartbeat(claim), false);
    });

    test("[TC6] a publication is whole, or nothing: a lake that refuses leaves the claim as it was", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders] });
      await tables.schedule();
      const claim = await tables.claimOne();
      const refused = tables.claims.publish(claim, {
        ...tables.lake.refreshed(claim),
        commit: async (tx) => {
          await tables.lake.refreshed(claim).commit(tx);
          throw new Error("the lake refused");
        },
      });
      await assert.rejects(refused, /the lake refused/);
      const { snapshot } = await tables.lake.current();
      assert.equal(snapshot, 1, "the lake did not move");
      assert.equal((await tables.row(10)).data_snapshot, null);
      assert.equal(await tables.publish(claim), "published");
      const row = await tables.row(10);
      assert.deepEqual(
        [row.status, row.data_snapshot, row.published_snapshot, row.target_snapshot],
        ["ACTIVE", 1, 2, null],
      );
      assert.equal(row.data_time_ms, claim.targetTimeMs);
      assert.deepEqual(await tables.claim("w2"), []);
    });

    test("[TC7, TC8] a sleeper that wakes after its lease publishes nothing, with and without a successor", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders] });
      await tables.schedule();
      const sleeper = await tables.claimOne("w1");
      await expire(tables);
      assert.equal(await tables.publish(sleeper), "claim_lost");
      const { snapshot } = await tables.lake.current();
      assert.equal(snapshot, 1);
      const successor = await tables.claimOne("w2");
      assert.ok(successor.token > sleeper.token);
      assert.equal(successor.attempt, 2);
      assert.equal(await tables.publish(sleeper), "claim_lost");
      assert.equal(await tables.claims.fail(sleeper, failure), false);
      assert.equal(await tables.claims.release(sleeper, "test"), false);
      assert.equal(await tables.publish(successor), "published");
      assert.equal(await tables.publish(sleeper), "claim_lost");
      assert.equal(await tables.publish(successor), "claim_lost", "once");
    });

    test("[TC7] the same worker's older token is as stale as another's", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders] });
      await tables.schedule();
      const old = await tables.claimOne("w1");
      await expire(tables);
      const now = await tables.claimOne("w1");
      assert.equal(await tables.claims.release(old, "woke up"), false);
      assert.equal(await tables.claims.heartbeat(old), false);
      assert.equal(await tables.publish(now), "published");
    });

    test("[TC9] a request during a refresh is not lost, however it arrives", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders] });
      await tables.schedule();
      const claim = await tables.claimOne();
      await tables.lake.write(orders);
      await tables.request(10);
      await tables.request(10);
      await tables.schedule(); // It already has a target, so it gets no new one.
      await tables.publish(claim);
      assert.deepEqual(await tables.work(), [], "it waits for a newer target");
      const snapshot = await tables.schedule();
      assert.deepEqual(await tables.work(), [10]);
      assert.equal((await tables.row(10)).data_snapshot, snapshot);
      await tables.schedule();
      assert.deepEqual(await tables.work(), [], "both are satisfied");
    });

    test("[TC9] a request before the claim, but after the target was chosen, is not lost either", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders] });
      await tables.schedule();
      const written = await tables.lake.write(orders);
      await tables.request(10);
      assert.deepEqual(await tables.work(), [10]);
      assert.ok(((await tables.row(10)).data_snapshot ?? 0) < written);
      await tables.schedule();
      assert.deepEqual(await tables.work(), [10]);
      assert.ok(((await tables.row(10)).data_snapshot ?? 0) >= written);
    });

    test("[TC14] what is given back can be claimed at once, and is no attempt", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders] });
      await tables.schedule();
      const poked = new Promise<void>((resolve) => {
        tables.store.onPoke(resolve);
      });
      await tables.claims.release(await tables.claimOne("w1"), "it drains");
      await poked;
      const again = await tables.claimOne("w2");
      assert.equal(again.attempt, 1);
      assert.equal((await tables.row(10)).last_refresh_state, "CANCELLED");
    });

    test("[TC17] suspended while it is refreshed: the claim is lost", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders] });
      await tables.schedule();
      const claim = await tables.claimOne();
      await tables.store.catalogTransaction((tx) => suspendTable(tx, tableId(10), "by hand"));
      assert.equal(await tables.claims.heartbeat(claim), false);
      assert.equal(await tables.publish(claim), "claim_lost");
    });

    test("[TC18] a claim says what to read of each source, from which snapshot to which", async (t) => {
      const tables = await open(t);
      await tables.lake.write(orders); // snapshot 2
      await tables.create({ 10: [orders], 11: [orders, 10] });
      await tables.schedule();
      const first = await tables.claimOne();
      assert.deepEqual(first.sources, [{ tableId: 1, isDynamic: false, from: undefined, to: 2 }]);
      await tables.publish(first); // snapshot 3
      const second = await tables.claimOne();
      assert.deepEqual(
        second.sources.map(({ tableId: id, from, to }) => [id, from, to]),
        [
          [1, undefined, 2],
          [10, undefined, 3],
        ],
      );
      assert.equal(second.table.name, "t11");
      await tables.publish(second); // snapshot 4
      await tables.lake.write(orders); // snapshot 5
      await tables.request(11);
      await tables.schedule();
      assert.equal((await tables.claimOne()).sources[0]?.from, 2);
      await expire(tables);
      await tables.work(); // table 10 at snapshot 6
      const row = await tables.row(11);
      assert.deepEqual([row.data_snapshot, row.published_snapshot], [5, 7]);
      const cursors = await tables.store.read(({ db }) =>
        db
          .selectFrom("dynamic_table_sources")
          .select("cursor_snapshot as cursor")
          .where("table_id", "=", 11)
          .orderBy("source_table_id")
          .execute(),
      );
      assert.deepEqual(
        cursors.map(({ cursor }) => cursor),
        [5, 6],
      );
    });
  });
}

export const failure = { code: "query_failed", message: "no such thing", isPermanent: false };

/** Expires the leases of all claims. */
export async function expire({ store }: TablesFixture): Promise<void> {
  await store.transaction(({ db }) =>
    sql`UPDATE refresh_claims SET expires_at_ms = now_ms()`.execute(db),
  );
}

async function setPending(
  { store }: TablesFixture,
  id: number,
  values: { readonly priority: number; readonly next_refresh_due_ms: number },
): Promise<void> {
  await store.transaction(({ db }) =>
    db.updateTable("pending_refreshes").set(values).where("table_id", "=", id).execute(),
  );
}
