/** The contract on a real Postgres, and network failures. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import pg from "pg";
import { silentLogger } from "../../kernel/logger.ts";
import { realClock } from "../../kernel/node/real-clock.ts";
import { createPrng } from "../../kernel/prng.ts";
import { eventually } from "../../kernel/testing/eventually.ts";
import { testStore } from "../core/store.contract.ts";
import type { Store } from "../core/store.ts";
import { openStore, setupStore } from "../setup/open-store.ts";
import { CuttingProxy } from "../testing/cutting-proxy.ts";
import { postgresFixture } from "../testing/fixtures.ts";
import { workerRow } from "../testing/worker-row.ts";

const postgres = postgresFixture();
/** Also limits connecting and every statement, so it must be long enough for a busy machine. */
const waitMsMax = 1_500;
testStore(postgres);

const parts = { clock: realClock, prng: createPrng("test"), logger: silentLogger };

describe("Postgres connections", () => {
  test("[ST11] lost inside of a transaction: it is tried again, and done once", async (t) => {
    const { proxy, store } = await openThroughProxy(t);
    let runs = 0;
    proxy.cutNext("before-statement");
    await store.catalogTransaction(async (tx) => {
      runs += 1;
      await tx.insert("workers", workerRow("w1"));
    });
    assert.deepEqual([proxy.cuts, runs], [1, 2]);
    assert.deepEqual(await history(store), ["CREATE w1"]);
  });

  test("[ST11] ended by the server inside of a transaction: it is tried again, and done once", async (t) => {
    const { store, direct } = await openThroughProxy(t);
    let runs = 0;
    await store.catalogTransaction(async (tx) => {
      runs += 1;
      await tx.insert("workers", workerRow("w1"));
      if (runs === 1) await terminateOthers(direct);
    });
    assert.equal(runs, 2);
    assert.deepEqual(await history(store), ["CREATE w1"]);
  });

  test("[ST12] lost before COMMIT arrived: the server says so, and it is done again", async (t) => {
    const { proxy, store } = await openThroughProxy(t);
    let runs = 0;
    proxy.cutNext("before-commit");
    await store.catalogTransaction(async (tx) => {
      runs += 1;
      await tx.insert("workers", workerRow("w1"));
    });
    assert.deepEqual([proxy.cuts, runs], [1, 2]);
    assert.deepEqual(await history(store), ["CREATE w1"]);
  });

  test("[ST12] lost after COMMIT was done: the server says so, and it is not done again", async (t) => {
    const { proxy, store } = await openThroughProxy(t);
    let runs = 0;
    proxy.cutNext("after-commit");
    const result = await store.catalogTransaction(async (tx) => {
      runs += 1;
      await tx.insert("workers", workerRow("w1"));
      return "result";
    });
    assert.deepEqual([proxy.cuts, runs, result], [1, 1, "result"]);
    assert.deepEqual(await history(store), ["CREATE w1"]);
  });

  test("[ST12] lost during COMMIT, and the server out of reach: commit_unknown", async (t) => {
    const { proxy, store, url } = await openThroughProxy(t, { waitMsMax });
    proxy.cutNext("after-commit", { thenDown: true });
    const change = store.catalogTransaction((tx) => tx.insert("workers", workerRow("w1")));
    await assert.rejects(change, { code: "commit_unknown", retry: "backoff" });
    const direct = await openStore({ kind: "postgres", url, ...parts });
    t.after(() => direct.close());
    assert.deepEqual(await history(direct), ["CREATE w1"]);
  });

  test("[ST12] a read whose end was lost is simply read again", async (t) => {
    const { proxy, store } = await openThroughProxy(t);
    proxy.cutNext("after-commit");
    assert.deepEqual(await history(store), []);
    assert.equal(proxy.cuts, 1);
  });

  test("[ST21] catalog transactions take turns: none conflicts, every body runs once", async (t) => {
    const { store } = await openThroughProxy(t);
    await store.catalogTransaction((tx) => tx.insert("workers", workerRow("w1")));
    let runs = 0;
    const increments = Array.from({ length: 30 }, () =>
      store.catalogTransaction(async (tx) => {
        runs += 1;
        const row = await tx.db.selectFrom("workers").select("capacity").executeTakeFirstOrThrow();
        await tx.update("workers", "w1", { capacity: row.capacity + 1 });
      }),
    );
    await Promise.all(increments);
    assert.equal(runs, 30);
    assert.equal((await history(store)).length, 31);
  });

  test("[ST25] after losing its connection the listener comes back, and pokes", async (t) => {
    const { store, direct, url } = await openThroughProxy(t);
    const other = await openStore({ kind: "postgres", url, ...parts });
    t.after(() => other.close());
    let pokes = 0;
    store.onPoke(() => {
      pokes += 1;
    });
    await eventually("it listens", async () =>
      (await listeners(direct)) === 2 ? true : undefined,
    );
    await terminateOthers(direct);
    pokes = 0;
    await eventually("it pokes after coming back", () => (pokes > 0 ? true : undefined));
    await eventually("it listens again", async () =>
      (await listeners(direct)) === 2 ? true : undefined,
    );
    pokes = 0;
    await other.catalogTransaction((tx) => tx.insert("workers", workerRow("w1")));
    await eventually("it hears", () => (pokes > 0 ? true : undefined));
  });

  test("[ST54] a server out of reach, a wrong database, a wrong user: a clear refusal", async () => {
    const nobody = openStore({
      kind: "postgres",
      url: "postgres://capstan:secret@127.0.0.1:1/x",
      waitMsMax: 100,
      ...parts,
    });
    await assert.rejects(nobody, (error: { code: string; message: string }) => {
      assert.equal(error.code, "store_unavailable");
      assert.match(error.message, /postgres:\/\/127\.0\.0\.1:1\/x/);
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
    const url = await postgres.server().createDatabase();
    const wrongDatabase = openStore({ kind: "postgres", url: `${url}0`, ...parts });
    await assert.rejects(wrongDatabase, { code: "store_unavailable", retry: "never" });
    const wrongUser = openStore({
      kind: "postgres",
      url: url.replace("capstan@", "eve@"),
      ...parts,
    });
    await assert.rejects(wrongUser, { code: "store_unavailable", retry: "never" });
  });

  test("[ST9] a lock held too long by another: store_busy", async (t) => {
    const { store, direct } = await openThroughProxy(t, { waitMsMax });
    await direct.query("BEGIN; LOCK TABLE catalog_revision IN EXCLUSIVE MODE");
    const change = store.catalogTransaction((tx) => tx.insert("workers", workerRow("w1")));
    await assert.rejects(change, { code: "store_busy", retry: "backoff" });
    assert.deepEqual(await history(store), [], "reading goes on");
    await direct.query("ROLLBACK");
    await store.catalogTransaction((tx) => tx.insert("workers", workerRow("w1")));
  });
});

async function openThroughProxy(
  t: TestContext,
  options: { waitMsMax?: number } = {},
): Promise<{ proxy: CuttingProxy; store: Store; direct: pg.Client; url: string }> {
  const url = await postgres.server().createDatabase();
  await setupStore({ kind: "postgres", url, ...parts });
  const proxy = await CuttingProxy.start(postgres.server().port);
  t.after(() => proxy.stop());
  const store = await openStore({ kind: "postgres", url: proxy.urlOf(url), ...parts, ...options });
  t.after(() => store.close());
  const direct = new pg.Client({ connectionString: url });
  await direct.connect();
  t.after(() => direct.end());
  return { proxy, store, direct, url };
}

async function terminateOthers(direct: pg.Client): Promise<void> {
  await direct.query(`
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()`);
}

async function listeners(direct: pg.Client): Promise<number> {
  const found = await direct.query(`
    SELECT count(*)::int AS n FROM pg_stat_activity
     WHERE datname = current_database() AND query LIKE 'LISTEN%'`);
  return found.rows[0].n;
}

async function history(store: Store): Promise<string[]> {
  const rows = await store.read(({ db }) =>
    db.selectFrom("catalog_changes").select(["op", "row_key"]).orderBy("revision").execute(),
  );
  return rows.map((row) => `${row.op} ${row.row_key}`);
}
