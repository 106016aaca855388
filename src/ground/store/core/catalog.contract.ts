/** The change log: every change of a watched table, once, in commit order. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sql } from "kysely";
import { AssertionError } from "../../kernel/errors.ts";
import { eventually } from "../../kernel/testing/eventually.ts";
import { openFresh, openOn, type StoreFixture } from "../testing/store-fixture.ts";
import { workerRow } from "../testing/worker-row.ts";
import type { CatalogChangesTable, WorkersTable } from "./schema.ts";
import type { Store } from "./store.ts";

export function testCatalog(fixture: StoreFixture): void {
  describe("catalog", () => {
    test("[ST20] insert, update and remove are logged with the row, and what it was", async (t) => {
      const { store } = await openFresh(fixture, t);
      const row = workerRow("w1");
      await store.catalogTransaction((tx) => tx.insert("workers", row));
      const updated = await store.catalogTransaction((tx) =>
        tx.update("workers", "w1", { capacity: 8 }),
      );
      const removed = await store.catalogTransaction((tx) => tx.remove("workers", "w1"));
      const bigger = { ...row, capacity: 8 };
      assert.deepEqual({ ...updated }, bigger);
      assert.deepEqual({ ...removed }, bigger);
      assert.deepEqual(await readLog(store), [
        { revision: 1, key: "w1", op: "CREATE", row, oldRow: null },
        { revision: 2, key: "w1", op: "UPDATE", row: bigger, oldRow: row },
        { revision: 3, key: "w1", op: "DROP", row: bigger, oldRow: null },
      ]);
    });

    test("[ST20] what changes nothing is not logged", async (t) => {
      const { store } = await openFresh(fixture, t);
      const row = workerRow("w1");
      await store.catalogTransaction((tx) => tx.insert("workers", row));
      await store.catalogTransaction(async (tx) => {
        const same = await tx.update("workers", "w1", { capacity: row.capacity });
        assert.deepEqual({ ...same }, row);
        assert.equal(await tx.update("workers", "nobody", { capacity: 1 }), undefined);
        assert.equal(await tx.remove("workers", "nobody"), undefined);
      });
      assert.equal((await readLog(store)).length, 1);
    });

    test("[ST21] revisions have no gaps over many transactions and stores", async (t) => {
      const { store, place } = await openFresh(fixture, t);
      const stores = [store, await openOn(place, t)];
      const inserts = Array.from({ length: 30 }, (_, index) =>
        stores[index % 2]?.catalogTransaction(async (tx) => {
          await tx.insert("workers", workerRow(`w${index}`));
          await tx.update("workers", `w${index}`, { capacity: index + 10 });
        }),
      );
      await Promise.all(inserts);
      const revisions = (await readLog(store)).map(({ revision }) => revision);
      assert.deepEqual(
        revisions,
        Array.from({ length: 60 }, (_, index) => index + 1),
      );
    });

    test("[ST22] a catalog transaction that throws leaves neither change, log nor gap", async (t) => {
      const { store } = await openFresh(fixture, t);
      const failing = store.catalogTransaction(async (tx) => {
        await tx.insert("workers", workerRow("w1"));
        throw new Error("changed my mind");
      });
      await assert.rejects(failing, /changed my mind/);
      await store.catalogTransaction((tx) => tx.insert("workers", workerRow("w2")));
      const [only, ...others] = await readLog(store);
      assert.deepEqual([only?.revision, only?.key, others], [1, "w2", []]);
    });

    test("[ST23] a watched table is not changed past the log", async (t) => {
      const { store } = await openFresh(fixture, t);
      const row = workerRow("w1");
      const attempts: readonly (() => Promise<unknown>)[] = [
        () => store.transaction(({ db }) => db.insertInto("workers").values(row).execute()),
        () => store.catalogTransaction(({ db }) => db.deleteFrom("workers").execute()),
        () => store.transaction(({ db }) => db.updateTable("workers").set(row).execute()),
        () => store.transaction(({ db }) => db.updateTable("workers as w").set(row).execute()),
      ];
      for (const attempt of attempts) await assert.rejects(attempt(), AssertionError);
    });

    test("[ST23] a row has its table's columns, all of them and no others", async (t) => {
      const { store } = await openFresh(fixture, t);
      const { capacity: _, ...incomplete } = workerRow("w1");
      const insert = (row: object): Promise<void> =>
        store.catalogTransaction((tx) => tx.insert("workers", row as WorkersTable));
      await assert.rejects(insert(incomplete), AssertionError);
      await assert.rejects(insert({ ...workerRow("w1"), colour: "red" }), AssertionError);
    });

    test("[ST24] the log keeps the newest changes and says what it has forgotten", async (t) => {
      const { store } = await openFresh(fixture, t, { changesKept: 20 });
      for (let index = 0; index < 60; index += 1) {
        await store.catalogTransaction((tx) => tx.insert("workers", workerRow(`w${index}`)));
      }
      const log = await readLog(store);
      const { revision, trimmed_revision } = await readRevision(store);
      assert.equal(revision, 60);
      assert.ok(log.length >= 20 && log.length <= 22, `${log.length} changes are kept`);
      assert.equal(log[0]?.revision, trimmed_revision + 1);
    });

    test("[ST24] one transaction larger than the log is logged and trimmed", async (t) => {
      const { store } = await openFresh(fixture, t, { changesKept: 100 });
      await store.catalogTransaction(async (tx) => {
        for (let index = 0; index < 1_200; index += 1) {
          await tx.insert("workers", workerRow(`w${index}`));
        }
      });
      const log = await readLog(store);
      assert.deepEqual([log.length, log[0]?.revision, log.at(-1)?.revision], [100, 1_101, 1_200]);
    });

    test("[ST25] a commit pokes its own store and every other one", async (t) => {
      const { store, place } = await openFresh(fixture, t);
      const other = await openOn(place, t);
      const pokes = { own: 0, other: 0 };
      store.onPoke(() => {
        pokes.own += 1;
      });
      other.onPoke(() => {
        pokes.other += 1;
      });
      await eventually("both are poked", async () => {
        await store.catalogTransaction((tx) =>
          tx.insert("workers", workerRow(`w${Math.random()}`)),
        );
        return pokes.own > 0 && pokes.other > 0 ? true : undefined;
      });
    });

    test("[ST25] a listener that left is not poked", async (t) => {
      const { store } = await openFresh(fixture, t);
      let pokes = 0;
      const leave = store.onPoke(() => {
        pokes += 1;
      });
      leave();
      await store.catalogTransaction((tx) => tx.insert("workers", workerRow("w1")));
      assert.equal(pokes, 0);
    });

    test("[ST26] what is referenced cannot be removed", async (t) => {
      const { store } = await openFresh(fixture, t);
      await store.catalogTransaction((tx) => tx.insert("workers", workerRow("w1")));
      // No table refers to workers yet, so the test creates one that does.
      const refer = sql`CREATE TABLE users_of_workers (
        worker_id TEXT NOT NULL REFERENCES workers (worker_id) ON DELETE RESTRICT)`;
      await store.transaction(async ({ db }) => await refer.execute(db));
      const use = sql`INSERT INTO users_of_workers (worker_id) VALUES ('w1')`;
      await store.transaction(async ({ db }) => await use.execute(db));
      const removal = store.catalogTransaction((tx) => tx.remove("workers", "w1"));
      await assert.rejects(removal, { code: "worker_busy", retry: "backoff" });
      assert.equal((await readLog(store)).length, 1);
    });
  });
}

interface LogEntry {
  readonly revision: number;
  readonly key: string;
  readonly op: CatalogChangesTable["op"];
  readonly row: unknown;
  readonly oldRow: unknown;
}

async function readLog(store: Store): Promise<LogEntry[]> {
  const rows = await store.read(({ db }) =>
    db.selectFrom("catalog_changes").selectAll().orderBy("revision").execute(),
  );
  return rows.map((row) => ({
    revision: row.revision,
    key: row.row_key,
    op: row.op,
    row: JSON.parse(row.row_json),
    oldRow: row.old_row_json === null ? null : JSON.parse(row.old_row_json),
  }));
}

function readRevision(store: Store): Promise<{ revision: number; trimmed_revision: number }> {
  return store.read(({ db }) =>
    db.selectFrom("catalog_revision").selectAll().executeTakeFirstOrThrow(),
  );
}
