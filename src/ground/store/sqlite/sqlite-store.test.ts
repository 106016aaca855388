/** The contract on a SQLite file, and file failures. */
import assert from "node:assert/strict";
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { sql } from "kysely";
import type { OperatingError } from "../../kernel/errors.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { realClock } from "../../kernel/node/real-clock.ts";
import { testStore } from "../core/store.contract.ts";
import { openStore, type SqliteStoreConfig, setupStore } from "../setup/open-store.ts";
import { sqliteFixture } from "../testing/fixtures.ts";
import { StoreChild } from "../testing/spawn-store-child.ts";
import { workerRow } from "../testing/worker-row.ts";
import { translateSqliteError } from "./sqlite-errors.ts";

const directory = mkdtempSync(join(tmpdir(), "capstan-sqlite-"));
after(() => rmSync(directory, { recursive: true, force: true }));

let places = 0;
function freshPath(): string {
  places += 1;
  return join(directory, `${places}.db`);
}

const parts = { kind: "sqlite", clock: realClock, logger: silentLogger } as const;

testStore(sqliteFixture());

describe("a SQLite file", () => {
  test("[ST9] another process holds the lock: we wait without blocking the thread, then store_busy", async (t) => {
    const config = await freshFile();
    const store = await openStore({ ...config, waitMsMax: 1_000 });
    t.after(() => store.close());
    const other = new DatabaseSync(config.path);
    t.after(() => other.close());
    other.exec("BEGIN IMMEDIATE");
    let ticks = 0;
    const ticking = setInterval(() => {
      ticks += 1;
    }, 5);
    t.after(() => clearInterval(ticking));
    const change = store.catalogTransaction((tx) => tx.insert("workers", workerRow("w1")));
    const refused = assert.rejects(change, { code: "store_busy", retry: "backoff" });
    const seen = await store.read(({ db }) => db.selectFrom("workers").selectAll().execute());
    assert.deepEqual(seen, [], "reading goes on meanwhile");
    await refused;
    assert.ok(ticks >= 5, `the thread was free ${ticks} times`);
    other.exec("ROLLBACK");
    await store.catalogTransaction((tx) => tx.insert("workers", workerRow("w1")));
  });

  test("[ST9] time in which the thread stood still is not held against whoever waits", async (t) => {
    const config = { ...(await freshFile()), waitMsMax: 100 };
    const [one, other] = await Promise.all([openStore(config), openStore(config)]);
    t.after(() => Promise.all([one.close(), other.close()]));
    const first = one.catalogTransaction(async (tx) => {
      await tx.insert("workers", workerRow("w1"));
      await setTimeout(80);
    });
    const second = other.catalogTransaction((tx) => tx.insert("workers", workerRow("w2")));
    await setTimeout(20);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300); // As if the disk stalls.
    await Promise.all([first, second]);
  });

  test("[ST9] another process lets go of the lock: the transaction is done", async (t) => {
    const config = await freshFile();
    const store = await openStore(config);
    t.after(() => store.close());
    const other = new DatabaseSync(config.path);
    t.after(() => other.close());
    other.exec("BEGIN IMMEDIATE");
    const change = store.catalogTransaction((tx) => tx.insert("workers", workerRow("w1")));
    await setTimeout(50);
    other.exec("ROLLBACK");
    await change;
  });

  test("[ST17] it is in WAL mode, synchronous, with foreign keys", async (t) => {
    const store = await openStore(await freshFile());
    t.after(() => store.close());
    const pragma = (name: string): Promise<unknown> =>
      store.read(async ({ db }) => {
        const found = await sql<object>`PRAGMA ${sql.raw(name)}`.execute(db);
        return Object.values(found.rows[0] ?? {})[0];
      });
    assert.equal(await pragma("journal_mode"), "wal");
    assert.equal(await pragma("synchronous"), 2);
    assert.equal(await pragma("foreign_keys"), 1);
  });

  test("[ST54] not a database, or a damaged one: store_corrupt, and the file stays as it is", async () => {
    const path = freshPath();
    writeFileSync(path, "this is a letter to my aunt, and not a database. ".repeat(100));
    const before = readFileSync(path);
    for (const attempt of [openStore, setupStore]) {
      const refusal = { code: "store_corrupt", retry: "never", message: new RegExp(path) };
      await assert.rejects(attempt({ ...parts, path }), refusal);
    }
    assert.deepEqual(readFileSync(path), before);
    const damaged = await freshFile();
    writeFileSync(damaged.path, readFileSync(damaged.path).fill(0xff, 100, 20_000));
    await assert.rejects(openStore(damaged), { code: "store_corrupt" });
  });

  test("[ST54] a place where nothing can be written: a clear refusal, and no file", async () => {
    const file = freshPath();
    writeFileSync(file, "");
    const places = [join(file, "store.db"), directory, "/proc/capstan/store.db", "/proc/store.db"];
    for (const path of places) {
      await assert.rejects(setupStore({ ...parts, path }), (error: OperatingError) => {
        assert.equal(error.code, "store_unavailable", path);
        assert.match(error.hint ?? "", /writ/);
        return true;
      });
    }
    const absent = freshPath();
    await assert.rejects(openStore({ ...parts, path: absent }), { code: "schema_absent" });
    assert.equal(existsSync(absent), false);
  });

  test("[ST54] a disk that takes no more: a clear error, and what was committed is there", async (t) => {
    const config = await freshFile();
    const child = new StoreChild(config.path, "fill", "", "ulimit -f 800");
    t.after(() => child.kill());
    await child.ready();
    child.go();
    let committed = 0;
    let said = await child.line();
    for (; said.startsWith("committed"); said = await child.line()) committed += 1;
    assert.match(said, /^failed (disk_full|store_unavailable) /);
    const store = await openStore(config);
    t.after(() => store.close());
    const rows = await store.read(({ db }) => db.selectFrom("workers").selectAll().execute());
    assert.equal(rows.length, committed);
    await store.catalogTransaction((tx) => tx.insert("workers", workerRow("later")));
  });

  for (const suffix of ["", "-wal"]) {
    test(`[ST58] a file (${suffix || "the database"}) that is gone, or another one, takes no write until it is back`, async (t) => {
      const config = await freshFile();
      const store = await openStore(config);
      t.after(() => store.close());
      const insert = (name: string) =>
        store.catalogTransaction((tx) => tx.insert("workers", workerRow(name)));
      const names = async () =>
        (await store.read(({ db }) => db.selectFrom("workers").select("worker_id").execute())).map(
          ({ worker_id }) => worker_id,
        );
      await insert("w1");
      const [path, moved] = [`${config.path}${suffix}`, `${config.path}${suffix}.moved`];
      renameSync(path, moved);
      const refused = { code: "store_unavailable", message: /is gone/ };
      await assert.rejects(insert("w2"), refused);
      await assert.rejects(
        store.transaction(async () => undefined),
        refused,
      );
      assert.deepEqual(await names(), ["w1"]);
      copyFileSync(moved, path);
      await assert.rejects(insert("w2"), { code: "store_unavailable", message: /another one/ });
      renameSync(moved, path);
      await insert("w3");
      assert.deepEqual(await names(), ["w1", "w3"]);
    });
  }

  test("[ST54] SQLite's own word for a full disk is disk_full", () => {
    const database = new DatabaseSync(":memory:");
    database.exec("PRAGMA max_page_count = 2; CREATE TABLE t (x TEXT)");
    try {
      database.exec("INSERT INTO t VALUES (hex(zeroblob(100000)))");
      assert.fail("it fits");
    } catch (error) {
      const translated = translateSqliteError(error, "x") as OperatingError;
      assert.deepEqual([translated.code, translated.retry], ["disk_full", "backoff"]);
    }
  });
});

async function freshFile(): Promise<SqliteStoreConfig> {
  const config = { ...parts, path: freshPath() };
  await setupStore(config);
  return config;
}
