/** Refreshes in parts, on every database. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { sql } from "kysely";
import { createPrng } from "../../../ground/kernel/prng.ts";
import {
  openFresh,
  openOn,
  type StoreFixture,
} from "../../../ground/store/testing/store-fixture.ts";
import type { ClaimedRefresh, ClaimedSubtask } from "../core/index.ts";
import type { ClaimSettings } from "./claim-settings.ts";
import { expire, failure } from "./claims.contract.ts";
import { readBacklog } from "./overview.ts";
import { readRefreshHistory } from "./refresh-history.ts";
import { StoreSubtaskClaims } from "./store-subtask-claims.ts";
import { suspendTable } from "./suspension.ts";
import { hourMs, orders, TablesFixture, tableId } from "./testing/tables-fixture.ts";

const ability = "test";

class Split extends TablesFixture {
  readonly parts = new StoreSubtaskClaims(this.store, {
    prng: createPrng("parts"),
    partAttemptsMax: 2,
  });

  /** Makes `workerId` lead a refresh with `count` parts. */
  async lead(count: number, workerId = "w1"): Promise<ClaimedRefresh> {
    await this.schedule();
    const lead = await this.claimOne(workerId);
    const specs = Array.from({ length: count }, (_, part) => `spec ${part}`);
    assert.equal(await this.parts.split(lead, { ability, specs }), true);
    assert.equal(await this.parts.split(lead, { ability, specs }), true, "said again");
    return lead;
  }

  async take(
    workerId: string,
    limit = 1,
    of: "any" | "own" = "any",
  ): Promise<readonly ClaimedSubtask[]> {
    const answer = await this.claims.claim({ workerId, limit, subtasks: { ability, limit, of } });
    return answer.subtasks ?? [];
  }

  async takeOne(workerId: string): Promise<ClaimedSubtask> {
    const [subtask] = await this.take(workerId);
    assert.ok(subtask !== undefined, "there is a part to take");
    return subtask;
  }

  async count(): Promise<number> {
    const rows = await this.store.read(({ db }) =>
      db.selectFrom("refresh_subtasks").select("part").execute(),
    );
    return rows.length;
  }

  async expireParts(): Promise<void> {
    await this.store.transaction(({ db }) =>
      sql`UPDATE refresh_subtasks SET expires_at_ms = now_ms() WHERE state = 'CLAIMED'`.execute(db),
    );
  }
}

export function testSubtasks(fixture: StoreFixture): void {
  const open = async (t: TestContext, settings: Partial<ClaimSettings> = {}): Promise<Split> => {
    const { store } = await openFresh(fixture, t);
    return new Split(store, { partAttemptsMax: 2, ...settings });
  };

  describe("subtasks", () => {
    test("[TP3, TP4] parts go before refreshes, each to one worker, with tokens of the same fence", async (t) => {
      const { store, place } = await openFresh(fixture, t);
      const tables = new Split(store);
      await tables.create({ 10: [orders], 11: [orders] });
      const lead = await tables.lead(6);
      const other = fixture.isShared ? await openOn(place, t) : store;
      const workers = [tables, new Split(other, {}, tables.lake)];
      const taken = await Promise.all(
        workers.flatMap((worker, index) =>
          Array.from({ length: 3 }, () => worker.take(`w${index + 1}`)),
        ),
      );
      const parts = taken.flat();
      assert.deepEqual(
        parts.map(({ part }) => part).sort((a, b) => a - b),
        [0, 1, 2, 3, 4, 5],
      );
      assert.equal(new Set(parts.map(({ token }) => token)).size, 6);
      assert.ok(parts.every(({ token }) => token > lead.token));
      const [first] = parts;
      assert.deepEqual(first?.refresh, lead, "what the lead claimed");
      assert.equal(first?.spec, `spec ${first?.part}`);
      const next = await tables.claimOne("w2");
      assert.equal(next.tableId, 11);
      assert.ok(next.token > Math.max(...parts.map(({ token }) => token)), "one fence for all");
    });

    test("[TP3] a worker that says nothing of subtasks, or of another ability, gets none", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders] });
      await tables.lead(2);
      assert.deepEqual(await tables.claim("w2", 5), []);
      const subtasks = { ability: "another", limit: 5, of: "any" } as const;
      const answer = await tables.claims.claim({ workerId: "w2", limit: 5, subtasks });
      assert.deepEqual(answer.claimed, []);
      assert.deepEqual(await tables.take("w2", 5, "own"), [], "it leads nothing");
      assert.equal((await tables.take("w1", 5, "own")).length, 2);
    });

    test("[TP5] when all are done the lead publishes once, and they are gone in the same transaction", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders] });
      const lead = await tables.lead(2);
      const [mine, yours] = [await tables.takeOne("w1"), await tables.takeOne("w2")];
      assert.equal(await tables.parts.finish(mine, "mine"), true);
      assert.equal(await tables.parts.finish(mine, "mine"), true, "said again");
      assert.deepEqual(await tables.parts.progress(lead), { kind: "running" });
      const half = await tables.row(10);
      assert.deepEqual([half.part_count, half.part_done_count], [2, 1]);
      assert.equal(await tables.parts.finish(yours, "yours"), true);
      assert.deepEqual(await tables.parts.progress(lead), {
        kind: "done",
        results: [
          { workerId: "w1", result: "mine" },
          { workerId: "w2", result: "yours" },
        ],
      });
      const refused = tables.claims.publish(lead, {
        ...tables.lake.refreshed(lead),
        commit: () => Promise.reject(new Error("the lake refused")),
      });
      await assert.rejects(refused);
      assert.equal(await tables.count(), 2, "nothing happened");
      const parts = { partCount: 2, workerCount: 2 };
      const data = { ...tables.lake.refreshed(lead), parts, reason: "large" };
      assert.equal((await tables.claims.publish(lead, data)).kind, "published");
      assert.equal(await tables.count(), 0);
      assert.equal((await tables.row(10)).part_count, 0);
      const [record] = await tables.store.read((tx) => readRefreshHistory(tx, { limit: 1 }));
      assert.deepEqual([record?.partCount, record?.workerCount, record?.reason], [2, 2, "large"]);
    });

    test("[TP6] whatever ends the lead's claim ends its parts: nobody can go on with them", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders] });
      const ends: readonly ((lead: ClaimedRefresh) => Promise<unknown>)[] = [
        (lead) => tables.claims.release(lead, "it stops"),
        (lead) => tables.claims.expireWorker(lead.workerId, "killed"),
        () => expire(tables).then(() => tables.claims.reapExpired()),
        () => tables.store.catalogTransaction((tx) => suspendTable(tx, tableId(10), "by hand")),
      ];
      for (const end of ends) {
        const lead = await tables.lead(2);
        const taken = await tables.takeOne("w2");
        await end(lead);
        assert.equal(await tables.count(), 0);
        assert.equal((await tables.row(10)).part_count, 0);
        assert.equal(await tables.parts.heartbeat(taken), false);
        assert.equal(await tables.parts.finish(taken, "late"), false);
        assert.equal(await tables.parts.fail(taken, failure), false);
        assert.deepEqual(await tables.parts.progress(lead), { kind: "claim_lost" });
        const specs = ["late"];
        assert.equal(await tables.parts.split(lead, { ability, specs }), false);
        await forgetBackoff(tables);
      }
    });

    test("[TP4] a part has a lease: heartbeats extend it, for its holder alone; over, another takes it", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders] });
      await tables.lead(1);
      const slow = await tables.takeOne("w2");
      assert.equal(await tables.parts.heartbeat(slow), true);
      assert.equal(await tables.parts.heartbeat({ ...slow, workerId: "w3" }), false);
      await tables.expireParts();
      assert.equal(await tables.parts.heartbeat(slow), false);
      assert.equal(await tables.parts.finish(slow, "late"), false);
      const next = await tables.takeOne("w3");
      assert.equal(next.attempt, 2);
      assert.ok(next.token > slow.token);
      assert.equal(await tables.parts.finish(slow, "late"), false);
      assert.equal(await tables.parts.finish(next, "right"), true);
    });

    test("[TP4] a worker whose session is lost loses its parts at once; the lead goes on", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders] });
      const lead = await tables.lead(2);
      await tables.take("w2", 2);
      assert.equal(await tables.claims.expireWorker("w2", "killed"), 2);
      assert.equal((await tables.take("w1", 2)).length, 2);
      assert.equal(await tables.claims.heartbeat(lead), true);
    });

    test("[TP7] a part that fails goes to another worker; failing too often, it fails the refresh with its error", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders] });
      const lead = await tables.lead(2);
      const bad = await tables.takeOne("w2");
      await tables.parts.fail(bad, failure);
      const other = await tables.takeOne("w2");
      assert.notEqual(other.part, bad.part, "its own failure comes last");
      await tables.parts.release(other);
      const [again, given] = await tables.take("w3", 2);
      assert.ok(again !== undefined && given !== undefined);
      assert.deepEqual([again.part, again.attempt], [bad.part, 2]);
      assert.equal(given.attempt, 1, "given back is no attempt");
      await tables.parts.fail(again, failure);
      const progress = await tables.parts.progress(lead);
      assert.equal(progress.kind, "failed");
      assert.ok(progress.kind === "failed");
      assert.equal(progress.failure.code, failure.code);
      assert.match(progress.failure.message, /part 1 of 2: no such thing/);
    });

    test("[TP7, TC20] a part that misses a file fails the refresh with it, and the file heals the table", async (t) => {
      const tables = await open(t, { backoff: { minMs: 1, maxMs: 1 }, seldomMsMax: hourMs });
      await tables.create({ 10: [orders] });
      const lead = await tables.lead(1);
      const lost = { ...failure, missingPath: "orders/a.parquet" };
      for (const worker of ["w2", "w3"]) {
        await tables.parts.fail(await tables.takeOne(worker), lost);
      }
      const progress = await tables.parts.progress(lead);
      assert.ok(progress.kind === "failed");
      assert.equal(progress.failure.missingPath, lost.missingPath);
      await tables.claims.fail(lead, { ...progress.failure, isPermanent: true });
      assert.equal((await tables.row(10)).status, "FAILED");
      await tables.schedule();
      assert.deepEqual(await tables.work(), [], "nothing has changed");
      tables.lake.found.add(lost.missingPath);
      await tables.schedule();
      assert.deepEqual(await tables.work(), [10]);
    });

    test("[TP4] parts poke those who wait, tell when one can be had by time alone, and count as pending", async (t) => {
      const tables = await open(t, { leaseMs: 60_000 });
      await tables.create({ 10: [orders] });
      let pokes = 0;
      tables.store.onPoke(() => {
        pokes += 1;
      });
      await tables.lead(1);
      assert.ok(pokes > 0);
      const backlog = await tables.store.read(readBacklog);
      assert.deepEqual([backlog.pendingRefreshCount, backlog.pendingPartCount], [2, 1]);
      await tables.takeOne("w2");
      const taken = await tables.store.read(readBacklog);
      assert.deepEqual([taken.pendingRefreshCount, taken.pendingPartCount], [1, 1]);
      const subtasks = { ability, limit: 1, of: "any" } as const;
      const { waitMs } = await tables.claims.claim({ workerId: "w3", limit: 0, subtasks });
      assert.ok(waitMs !== undefined && waitMs > 0 && waitMs <= 60_000);
    });

    test("[TC19] what a refresh cost comes with the claims of the same definition, newest last", async (t) => {
      const tables = await open(t);
      await tables.create({ 10: [orders] }, { mode: "INCREMENTAL" });
      const cost = { durationMs: 12.4, changedRows: 3, totalRows: 100 };
      for (const durationMs of [12.4, 7]) {
        await tables.lake.write(orders);
        await tables.request(10);
        await tables.schedule();
        const claim = await tables.claimOne();
        const data = { ...tables.lake.refreshed(claim), cost: { ...cost, durationMs } };
        await tables.claims.publish(claim, data);
      }
      await tables.lake.write(orders);
      await tables.request(10);
      await tables.schedule();
      const { experience } = await new TablesFixture(tables.store, {}, tables.lake).claimOne("w9");
      assert.deepEqual(
        experience,
        [12, 7].map((durationMs) => ({ ...cost, action: "FULL", durationMs })),
      );
    });
  });
}

async function forgetBackoff({ store }: TablesFixture): Promise<void> {
  await store.transaction(({ db }) =>
    db.updateTable("pending_refreshes").set({ not_before_ms: 0 }).execute(),
  );
}
