/** Failed refreshes and what becomes of their tables, on every database. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import type { Tx } from "../../../ground/store/index.ts";
import { awaitState } from "../../../ground/store/index.ts";
import { openFresh, type StoreFixture } from "../../../ground/store/testing/store-fixture.ts";
import { lookForContents } from "../statements/look-for-contents.ts";
import type { ClaimSettings } from "./claim-settings.ts";
import { expire, failure } from "./claims.contract.ts";
import { replaceDynamicTable } from "./definitions.ts";
import { RefreshDurations, readRefreshHistory, recordRefresh } from "./refresh-history.ts";
import { resumeTable, suspendTable } from "./suspension.ts";
import { definition, hourMs, orders, TablesFixture, tableId } from "./testing/tables-fixture.ts";

const minuteMs = 60_000;
const hasty: Partial<ClaimSettings> = { backoff: { minMs: 1, maxMs: 1 } };

export function testFailures(fixture: StoreFixture): void {
  const open = async (
    t: TestContext,
    settings: Partial<ClaimSettings> = {},
  ): Promise<TablesFixture> => {
    const { store } = await openFresh(fixture, t);
    return new TablesFixture(store, settings);
  };

  describe("failures", () => {
    test("[TC10] a failure backs off, longer each time, and says when to ask again", async (t) => {
      // Longer than the test.
      const tables = await open(t, { backoff: { minMs: minuteMs, maxMs: hourMs } });
      await tables.create({ 10: [orders] });
      await tables.schedule();
      const waits: number[] = [];
      for (let attempt = 1; attempt <= 3; attempt += 1) {
        const claim = await tables.claimOne();
        assert.equal(claim.attempt, attempt);
        await tables.claims.fail(claim, failure);
        const { claimed, waitMs } = await tables.claims.claim({ workerId: "w1", limit: 1 });
        assert.deepEqual(claimed, []);
        waits.push(waitMs ?? -1);
        await forgetBackoff(tables);
      }
      const [first = 0, second = 0, third = 0] = waits;
      assert.ok(first > 0 && first <= minuteMs, `${first}`);
      assert.ok(second > 0 && second <= 2 * minuteMs, `${second}`);
      assert.ok(third > minuteMs && third <= 4 * minuteMs, `${third}`);
      const row = await tables.row(10);
      assert.equal(row.failures_in_a_row, 3);
      assert.equal(row.last_error, "query_failed: no such thing");
      await tables.work();
      assert.equal((await tables.row(10)).failures_in_a_row, 0, "success forgets them");
    });

    test("[TC11, TG5] failing for long enough suspends it, and all that read it, naming it", async (t) => {
      const tables = await open(t, hasty);
      await tables.create({ 10: [orders], 11: [10], 12: [11], 20: [orders] });
      await tables.schedule();
      await failTimes(tables, 6);
      assert.equal(
        (await tables.row(10)).status,
        "INITIALIZING",
        "tries in quick succession do not",
      );
      await failForLong(tables);
      const row = await tables.row(10);
      assert.equal(row.status, "SUSPENDED");
      assert.match(row.status_reason, /7 refreshes in a row failed within 1\d min.*no such thing/);
      for (const id of [11, 12]) {
        const below = await tables.row(id);
        assert.equal(below.status, "SUSPENDED");
        assert.match(below.status_reason, /reads t10, which is suspended/);
        assert.equal(below.suspended_by, "t10");
      }
      assert.equal((await tables.row(20)).status, "INITIALIZING");
      assert.deepEqual(await tables.work(), [20]);
    });

    test("[TG6] RESUME clears it, and takes those along that were suspended because of it", async (t) => {
      const tables = await open(t, hasty);
      await tables.create({ 10: [orders], 11: [10], 12: [orders], 13: [11, 12] });
      await tables.schedule();
      await failTimes(tables, 1);
      await failForLong(tables);
      await tables.store.catalogTransaction((tx) => suspendTable(tx, tableId(12), "by hand"));
      const early = tables.store.catalogTransaction((tx) => resumeTable(tx, tableId(11)));
      await assert.rejects(early, { code: "bad_request", message: /t11 reads t10/ });
      const resumed = await tables.store.catalogTransaction((tx) => resumeTable(tx, tableId(10)));
      assert.deepEqual(resumed, ["t10", "t11"]);
      const row = await tables.row(10);
      assert.deepEqual(
        [row.status, row.failures_in_a_row, row.last_error],
        ["INITIALIZING", 0, null],
      );
      const both = await tables.row(13);
      assert.deepEqual([both.status, both.suspended_by], ["SUSPENDED", "t12"]);
      assert.deepEqual(
        await tables.store.catalogTransaction((tx) => resumeTable(tx, tableId(12))),
        ["t12", "t13"],
      );
      await tables.request(13);
      await tables.schedule();
      assert.deepEqual(
        (await tables.work()).sort((a, b) => a - b),
        [10, 11, 12, 13],
      );
    });

    test("[TG4, TG6] OR REPLACE of a suspended table resumes it, and what was suspended because of it", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders], 11: [10], 12: [11], 13: [12] });
      await tables.store.catalogTransaction((tx) => suspendTable(tx, tableId(10), "by request"));
      const elsewhere = definition(12, [orders]);
      await tables.store.catalogTransaction((tx) =>
        replaceDynamicTable(tx, tableId(12), elsewhere, undefined),
      );
      assert.equal((await tables.row(13)).status, "INITIALIZING", "it no longer reads t10");
      assert.equal((await tables.row(11)).status, "SUSPENDED");
      await tables.store.catalogTransaction((tx) =>
        replaceDynamicTable(tx, tableId(10), definition(15, [orders], { name: "t10" }), undefined),
      );
      assert.deepEqual(
        [(await tables.row(15)).status, (await tables.row(11)).status],
        ["INITIALIZING", "INITIALIZING"],
      );
    });

    test("[TC12, TS9] a definition that no longer works is FAILED at once; its readers wait and say for what", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders], 11: [10] });
      await tables.schedule();
      const gone = { code: "bad_sql", message: "orders has no column x", isPermanent: true };
      await tables.claims.fail(await tables.claimOne(), gone);
      assert.equal((await tables.row(10)).status, "FAILED");
      await tables.schedule();
      const below = await tables.row(11);
      assert.equal(below.status, "INITIALIZING");
      assert.match(below.wait_reason, /waits for t10, which is FAILED: .*no column x/);
      assert.deepEqual(await tables.claim("w1"), []);
      await tables.store.catalogTransaction((tx) => resumeTable(tx, tableId(10)));
      await tables.schedule();
      assert.equal((await tables.row(11)).wait_reason, "");
      assert.deepEqual(await tables.work(), [10, 11], "the first request of 11 was not lost");
    });

    test("[TC20] FAILED heals when its source changes; what waits for it goes on", async (t) => {
      const tables = await open(t, hasty);
      await tables.create({ 10: [orders], 11: [10] });
      await tables.schedule();
      await tables.claims.fail(await tables.claimOne(), permanent);
      await tables.passMs(2);
      await tables.schedule();
      assert.deepEqual(await tables.claim("w1"), [], "the same rows are not tried again");
      await tables.lake.write(orders);
      await tables.schedule();
      const again = await tables.claimOne();
      assert.deepEqual([again.tableId, (await tables.row(10)).status], [10, "FAILED"]);
      await tables.claims.fail(again, permanent);
      assert.equal((await tables.row(10)).failures_in_a_row, 2);
      await tables.passMs(2);
      await tables.lake.write(orders);
      await tables.schedule();
      await tables.publish(await tables.claimOne());
      const row = await tables.row(10);
      assert.deepEqual(
        [row.status, row.status_reason, row.failing_since_ms, row.failures_in_a_row],
        ["ACTIVE", "", null, 0],
      );
      await tables.schedule();
      assert.deepEqual(await tables.work(), [11], "its reader's request was not lost");
    });

    test("[TC20] SUSPENDED for failures heals with those that follow it; a person's suspension does not", async (t) => {
      const tables = await open(t, hasty);
      await tables.create({ 10: [orders], 11: [10], 12: [11], 20: [orders] });
      await tables.schedule();
      await failTimes(tables, 1);
      await failForLong(tables);
      await tables.work();
      await tables.store.catalogTransaction((tx) => suspendTable(tx, tableId(20), "by request"));
      assert.equal((await tables.row(12)).suspended_by, "t10");
      await tables.passMs(2);
      await tables.lake.write(orders);
      await tables.schedule();
      assert.deepEqual(await tables.work(), [10]);
      await tables.schedule();
      assert.deepEqual(await tables.work(), [11, 12]);
      const statuses = await Promise.all([10, 11, 12, 20].map((id) => tables.row(id)));
      assert.deepEqual(
        statuses.map(({ status }) => status),
        ["ACTIVE", "ACTIVE", "ACTIVE", "SUSPENDED"],
      );
    });

    test("[TC20] SUSPENDED for failures is tried by time, and when a missing file is back", async (t) => {
      const tables = await open(t, { ...hasty, seldomMsMax: hourMs });
      await tables.create({ 10: [orders] });
      await tables.schedule();
      const lost = { ...failure, missingPath: "orders/a.parquet" };
      await tables.claims.fail(await tables.claimOne(), lost);
      await tables.passMs(2);
      await longAgo(tables);
      await tables.claims.fail(await tables.claimOne(), lost);
      assert.equal((await tables.row(10)).status, "SUSPENDED");
      await tables.passMs(2);
      const soon = (await tables.row(10)).retry_at_ms ?? 0;
      await tables.schedule(undefined, soon - 1);
      assert.equal((await tables.row(10)).target_snapshot, null);
      tables.lake.found.add(lost.missingPath);
      await tables.schedule();
      await tables.claims.fail(await tables.claimOne(), failure);
      assert.equal((await tables.row(10)).status, "SUSPENDED", "one failure is enough then");
      const later = (await tables.row(10)).retry_at_ms ?? 0;
      await tables.schedule(undefined, later);
      assert.deepEqual(await tables.work(), [10]);
    });

    test("[TG10] who reads a table whose first refresh failed waits while it is tried again", async (t) => {
      const tables = await open(t, hasty);
      await tables.create({ 10: [orders], 11: [10] });
      await tables.schedule();
      const read = async (id: number, waitMsMax = 0): Promise<boolean> => {
        const { signal } = new AbortController();
        const look = (tx: Tx) => lookForContents(tx, [tableId(id)]);
        const deps = { store: tables.store, clock: realClock };
        return await awaitState(deps, { waitMsMax, signal, look });
      };
      await tables.claims.fail(await tables.claimOne(), permanent);
      for (const id of [10, 11]) await assert.rejects(read(id), { code: "conflict" });
      await tables.lake.write(orders);
      await tables.schedule();
      assert.equal((await tables.row(10)).status, "FAILED");
      for (const id of [10, 11]) await assert.rejects(read(id), { code: "deadline_exceeded" });
      const waited = read(11, 60_000);
      await tables.work();
      await tables.schedule();
      await tables.work();
      assert.equal(await waited, true);
    });

    test("[TC20] asking for a table tries again what has failed, its sources first", async (t) => {
      const tables = await open(t, hasty);
      await tables.create({ 10: [orders], 11: [10] });
      await tables.schedule();
      await tables.work();
      await tables.lake.write(orders);
      await tables.request(10);
      await tables.schedule();
      await tables.claims.fail(await tables.claimOne(), permanent);
      await tables.request(11);
      await tables.schedule();
      assert.deepEqual(await tables.work(), [10]);
      await tables.schedule();
      assert.deepEqual(await tables.work(), [11]);
      await tables.store.catalogTransaction((tx) => suspendTable(tx, tableId(10), "by request"));
      await assert.rejects(tables.request(11), { code: "bad_request", message: /t10, which is/ });
    });

    test("[TC22] a backlog behind a failure does not hide a newer snapshot that cures it", async (t) => {
      const tables = await open(t, { backoff: { minMs: 1, maxMs: hourMs } });
      await tables.create({ 10: [orders], 11: [10] });
      await tables.schedule();
      await failTimes(tables, 1);
      await tables.passMs(2);
      await tables.store.transaction(({ db }) =>
        db.updateTable("pending_refreshes").set({ not_before_ms: 1e15 }).execute(),
      );
      const cured = await tables.lake.write(orders);
      await tables.schedule();
      await tables.schedule();
      const claim = await tables.claimOne();
      assert.equal(claim.targetSnapshot, cured);
      await tables.publish(claim);
      assert.deepEqual(await tables.work(), [11]);
    });

    test("[TG6] RESUME of a table that has no contents yet fills it", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders] });
      await tables.schedule();
      await tables.claims.fail(await tables.claimOne(), permanent);
      await tables.store.catalogTransaction((tx) => resumeTable(tx, tableId(10)));
      await tables.schedule();
      assert.deepEqual(await tables.work(), [10]);
    });

    test("[TC13] a lost session frees its claims at once; the next worker takes them", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders], 11: [orders], 12: [orders] });
      await tables.schedule();
      const [first] = await tables.claim("w1", 2);
      const other = await tables.claimOne("w2");
      assert.equal(await tables.claims.expireWorker("w1", "silent"), 2);
      assert.equal(await tables.claims.expireWorker("w1", "silent"), 0);
      assert.ok(first !== undefined);
      assert.equal(await tables.publish(first), "claim_lost");
      assert.equal(await tables.publish(other), "published");
      assert.deepEqual(
        (await tables.work("w2")).sort((a, b) => a - b),
        [10, 11],
      );
    });

    test("[TC13] expired claims are reaped; the loss of a worker is no failure of the table", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders] });
      await tables.schedule();
      await tables.claimOne("w1");
      assert.equal(await tables.claims.reapExpired(), 0);
      await expire(tables);
      assert.equal(await tables.claims.reapExpired(), 1);
      const row = await tables.row(10);
      assert.equal(row.failures_in_a_row, 0);
      assert.match(row.last_error ?? "", /worker_lost: w1/);
      assert.equal((await tables.claimOne("w2")).attempt, 2);
    });

    test("[TC13] a table that costs worker after worker is suspended", async (t) => {
      const tables = await open(t, { ...hasty, lossesMax: 3, seldomMsMax: hourMs });
      await tables.create({ 10: [orders] });
      await tables.schedule();
      for (let loss = 1; loss <= 3; loss += 1) {
        await tables.passMs(2);
        await tables.claimOne(`w${loss}`);
        await tables.claims.expireWorker(`w${loss}`, "killed");
      }
      const row = await tables.row(10);
      assert.equal(row.status, "SUSPENDED");
      assert.match(row.status_reason, /3 workers in a row were lost/);
      await tables.schedule(undefined, (row.retry_at_ms ?? 0) - 1);
      assert.deepEqual(await tables.claim("w4"), [], "not at once");
      await tables.schedule(undefined, row.retry_at_ms ?? 0);
      await tables.claimOne("w4");
      await tables.claims.expireWorker("w4", "killed");
      assert.equal((await tables.row(10)).status, "SUSPENDED", "one more worker, not three");
      assert.deepEqual(await tables.claim("w5"), []);
    });

    test("[TC15, TC16] nothing to do is recorded: the data is newer, the contents and the history are not", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders] });
      await tables.schedule();
      await tables.work();
      const before = await tables.row(10);
      for (let round = 0; round < 3; round += 1) {
        await tables.lake.write(orders);
        await tables.request(10);
        await tables.schedule();
        const claim = await tables.claimOne();
        const outcome = await tables.claims.publish(claim, { action: "NO_DATA" });
        assert.deepEqual(outcome, { kind: "published", snapshot: before.published_snapshot });
      }
      const after = await tables.row(10);
      assert.ok((after.data_time_ms ?? 0) > (before.data_time_ms ?? 0));
      assert.equal(after.data_snapshot, 5);
      assert.equal(after.published_snapshot, before.published_snapshot);
      const history = await tables.store.read((tx) => readRefreshHistory(tx, { limit: 10 }));
      assert.deepEqual(
        history.map(({ number, action, repeats, trigger }) => [number, action, repeats, trigger]),
        [
          [2, "NO_DATA", 3, "MANUAL"],
          [1, "FULL", 1, "INITIAL"],
        ],
      );
    });

    test("[TG16] how long each refresh took is told once; those that found nothing to do are not", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders], 11: [orders] });
      await tables.schedule();
      await tables.work(); // Before the first call of `next`.
      await tables.passMs(2);
      const durations = new RefreshDurations();
      const next = () => tables.store.read((tx) => durations.next(tx));
      assert.deepEqual(await next(), []);
      const row = await tables.store.read(({ db }) =>
        db.selectFrom("refresh_history").selectAll().executeTakeFirstOrThrow(),
      );
      const { refresh_number: _number, repeats: _repeats, ...entry } = row;
      const endMs = (await tables.nowMs()) + 1;
      let token = row.token + 10;
      const record = async (seconds: number, changes: Partial<typeof entry> = {}) => {
        token += 1;
        const times = { started_at_ms: endMs - seconds * 1_000, ended_at_ms: endMs };
        await tables.store.catalogTransaction((tx) =>
          recordRefresh(tx, { ...entry, ...times, token, ...changes }, 500),
        );
      };
      await record(2);
      assert.deepEqual(await next(), [2]);
      await record(3);
      await record(4, { dynamic_table: "t11", table_id: 11 });
      assert.deepEqual((await next()).toSorted(), [3, 4], "of the same millisecond");
      assert.deepEqual(await next(), []);
      await record(5, { action: "NO_DATA", ended_at_ms: endMs + 1 });
      await record(6, { state: "FAILED", action: null, ended_at_ms: endMs + 2 });
      assert.deepEqual(await next(), []);
      await record(7, { action: "INCREMENTAL", ended_at_ms: endMs + 3 });
      assert.deepEqual(await next(), [7.003]);
    });

    test("[TC16] the history says how each refresh ended, and keeps the newest", async (t) => {
      const tables = await open(t, { ...hasty, historyRows: 3 });
      await tables.create({ 10: [orders] });
      await tables.schedule();
      const claim = await tables.claimOne("w7");
      await tables.claims.release(claim, "it drains");
      await failTimes(tables, 2);
      await tables.passMs(2);
      await tables.work("w8");
      const history = await tables.store.read((tx) =>
        readRefreshHistory(tx, { dynamicTable: "t10", limit: 10 }),
      );
      assert.deepEqual(
        history.map(({ number, state, attempt, workerId }) => [number, state, attempt, workerId]),
        [
          [4, "SUCCEEDED", 3, "w8"],
          [3, "FAILED", 2, "w1"],
          [2, "FAILED", 1, "w1"],
        ],
      );
      assert.deepEqual(history[1]?.error, { code: "query_failed", message: "no such thing" });
      assert.equal(history[0]?.sourceSnapshot, 1);
      assert.equal(history[0]?.snapshot, 2);
    });
  });
}

const permanent = { code: "bad_sql", message: "no such column", isPermanent: true };

/** As if the table had been failing for ten minutes. */
async function longAgo(tables: TablesFixture): Promise<void> {
  const { failing_since_ms } = await tables.row(10);
  const since = { failing_since_ms: (failing_since_ms ?? 0) - 600_000 };
  await tables.store.catalogTransaction((tx) => tx.update("dynamic_tables", "t10", since));
}

async function failForLong(tables: TablesFixture): Promise<void> {
  await longAgo(tables);
  await failTimes(tables, 1);
}

async function failTimes(tables: TablesFixture, times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    await tables.passMs(2);
    const claim = await tables.claimOne();
    assert.equal(claim.tableId, 10);
    await tables.claims.fail(claim, failure);
  }
}

async function forgetBackoff({ store }: TablesFixture): Promise<void> {
  await store.transaction(({ db }) =>
    db.updateTable("pending_refreshes").set({ not_before_ms: 0 }).execute(),
  );
}
