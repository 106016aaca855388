/** Several processes on one store, and what remains when one of them is killed. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { StoreChild } from "../testing/spawn-store-child.ts";
import { openFresh, type StoreFixture } from "../testing/store-fixture.ts";
import { workerRow } from "../testing/worker-row.ts";
import type { Store } from "./store.ts";

export function testProcesses(fixture: StoreFixture): void {
  describe("processes", () => {
    test("[ST8, ST21, ST25] two processes at once: nothing lost, no gap in the log, and we are poked", async (t) => {
      const { store, place } = await openFresh(fixture, t);
      await insertCounter(store);
      const poked = new Promise<void>((resolve) => {
        store.onPoke(resolve);
      });
      const children = await startChildren(t, 2, place.url, "work", "30");
      for (const child of children) child.go();
      for (const child of children) await child.expect("done");
      await poked;
      assert.equal(await readCounter(store), 61);
      const log = await store.read(({ db }) =>
        db.selectFrom("catalog_changes").select("revision").orderBy("revision").execute(),
      );
      const revisions = log.map(({ revision }) => revision);
      assert.deepEqual(
        revisions,
        Array.from({ length: 60 }, (_, index) => index + 1),
      );
    });

    test("[ST7] a killed process leaves what it committed, nothing of what it had not, and no lock", async (t) => {
      const { store, place } = await openFresh(fixture, t);
      const child = await startChild(t, place.url, "hang");
      child.go();
      await child.expect("hanging");
      assert.deepEqual(await workerIds(store), ["committed"], "nobody sees what is not committed");
      await child.kill();
      await store.catalogTransaction((tx) => tx.insert("workers", workerRow("later")));
      assert.deepEqual(await workerIds(store), ["committed", "later"]);
    });
  });
}

function startChildren(
  t: TestContext,
  count: number,
  ...args: ConstructorParameters<typeof StoreChild>
): Promise<StoreChild[]> {
  return Promise.all(Array.from({ length: count }, () => startChild(t, ...args)));
}

async function startChild(
  t: TestContext,
  ...args: ConstructorParameters<typeof StoreChild>
): Promise<StoreChild> {
  const child = new StoreChild(...args);
  t.after(() => child.kill());
  await child.ready();
  return child;
}

async function insertCounter(store: Store): Promise<void> {
  const row = { name: "counter", holder: "h", epoch: 1, expires_at_ms: 0, api_url: "" };
  await store.transaction(({ db }) => db.insertInto("coordinator_leases").values(row).execute());
}

async function readCounter(store: Store): Promise<number> {
  const row = await store.read(({ db }) =>
    db.selectFrom("coordinator_leases").select("epoch").executeTakeFirstOrThrow(),
  );
  return row.epoch;
}

async function workerIds(store: Store): Promise<string[]> {
  const rows = await store.read(({ db }) =>
    db.selectFrom("workers").select("worker_id").orderBy("worker_id").execute(),
  );
  return rows.map((row) => row.worker_id);
}
