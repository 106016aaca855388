import assert from "node:assert/strict";
import { test } from "node:test";
import { testStore } from "../core/store.contract.ts";
import { memoryFixture } from "../testing/fixtures.ts";
import { workerRow } from "../testing/worker-row.ts";
import { createSharedSqlite, openSimStore } from "./sim-store.ts";

testStore(memoryFixture(), "SQLite in memory");

test("[ST18] a transaction needs nothing but microtasks, and its clock is the one it was given", async () => {
  let nowMs = 5_000;
  const database = createSharedSqlite(() => nowMs);
  const [first, second] = [openSimStore({ database }), openSimStore({ database })];
  let pokes = 0;
  second.onPoke(() => {
    pokes += 1;
  });
  const log: string[] = [];
  const turn = new Promise<void>((resolve) => {
    setImmediate(() => {
      log.push("next turn of the event loop");
      resolve();
    });
  });
  for (let index = 0; index < 100; index += 1) {
    nowMs += 1;
    await first.catalogTransaction((tx) => tx.insert("workers", workerRow(`w${index}`)));
  }
  assert.equal(await second.catalogTransaction((tx) => tx.nowMs()), 5_100);
  log.push("a hundred transactions");
  await turn;
  assert.deepEqual(log, ["a hundred transactions", "next turn of the event loop"]);
  assert.ok(pokes > 0);
});

test("[ST18] closing one process's store leaves the database to the others", async () => {
  const database = createSharedSqlite(() => 0);
  const [first, second] = [openSimStore({ database }), openSimStore({ database })];
  await first.catalogTransaction((tx) => tx.insert("workers", workerRow("w1")));
  await first.close();
  const rows = await second.read(({ db }) =>
    db.selectFrom("workers").select("worker_id").execute(),
  );
  assert.equal(rows.length, 1);
});
