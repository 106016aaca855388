/** The contract on a real SQLite, and what only SQLite does. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import type { Target } from "../../core/target.ts";
import { createTargetFiles } from "../target-files.ts";
import { execute, operationOf } from "../testing/operations.ts";
import { testTarget } from "../testing/target.contract.ts";
import { createSqliteTarget } from "./sqlite-target.ts";
import { closeIn } from "./sqlite-wall.ts";

const { signal } = new AbortController();

function openTemporary(settings = ""): { target: Target; path: string; close(): Promise<void> } {
  const dir = mkdtempSync(join(tmpdir(), "capstan-sqlite-"));
  const files = createTargetFiles({ dataDir: dir });
  const path = files.pathOf("t.db");
  const target = createSqliteTarget(`sqlite://${path}${settings}`, realClock, files);
  return {
    target,
    path,
    close: async () => {
      await target.close();
      rmSync(dir, { recursive: true });
    },
  };
}

testTarget("sqlite", async () => {
  const { target, close } = openTemporary();
  return {
    target,
    cutConnections: undefined,
    slowSql: "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
    types: ["bigint", "double", "text"],
    close,
  };
});

async function say(connection: Awaited<ReturnType<Target["connect"]>>, sql: string) {
  return execute(await connection.prepare(operationOf("CUSTOM", sql, {})), []);
}

test("[SL1] a lock that is not free in time is a timeout, one that may not be waited for a serialization failure", async () => {
  const { target, close } = openTemporary("?busy_timeout=30");
  try {
    await target.run("CREATE TABLE t (id INTEGER PRIMARY KEY)", [], signal);
    const one = await target.connect(1, signal);
    const two = await target.connect(1, signal);
    await say(one, "BEGIN IMMEDIATE");
    const late = await say(two, "INSERT INTO t VALUES (1)");
    assert.deepEqual([late.failure?.kind, late.failure?.code], ["timeout", "5"]);
    await say(two, "BEGIN");
    assert.equal((await say(two, "SELECT * FROM t")).failure, undefined);
    const upgrade = await say(two, "INSERT INTO t VALUES (1)");
    assert.equal(upgrade.failure?.kind, "serialization");
    await say(one, "INSERT INTO t VALUES (2)");
    await say(one, "COMMIT");
    const stale = await say(two, "INSERT INTO t VALUES (1)");
    assert.deepEqual([stale.failure?.kind, stale.failure?.code], ["serialization", "517"]);
  } finally {
    await close();
  }
});

test("[SL2] transactions that write wait for each other; a closed connection frees its locks", async () => {
  const { target, close } = openTemporary();
  try {
    await target.run("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)", [], signal);
    await target.run("INSERT INTO t VALUES (1, 0)", [], signal);
    const read = operationOf("CUSTOM", "SELECT n FROM t", {});
    const add = operationOf("UPDATE", "UPDATE t SET n = n + 1", {});
    const both = {
      ...add,
      statements: [...read.statements, ...add.statements],
      isTransaction: true,
    };
    const connections = await Promise.all([1, 2, 3].map(() => target.connect(4, signal)));
    const outcomes = connections.map(async (connection) => {
      const prepared = await connection.prepare(both);
      return Promise.all(Array.from({ length: 20 }, () => execute(prepared, [])));
    });
    for (const { failure, rowCount } of (await Promise.all(outcomes)).flat()) {
      assert.deepEqual([failure, rowCount], [undefined, 2]);
    }
    assert.deepEqual(await target.run("SELECT n FROM t", [], signal), [[60]]);
    const [one, two] = connections;
    assert.ok(one !== undefined && two !== undefined);
    await say(one, "BEGIN IMMEDIATE");
    await say(one, "UPDATE t SET n = 0");
    const waiting = say(two, "UPDATE t SET n = n + 1");
    await one.close();
    assert.equal((await waiting).failure, undefined);
    assert.deepEqual(await target.run("SELECT n FROM t", [], signal), [[61]]);
  } finally {
    await close();
  }
});

test("[SL3] it is WAL; whole numbers are integers, up to 64 bits; booleans are 0 and 1", async () => {
  const { target, path, close } = openTemporary("?synchronous=off");
  try {
    await target.run("CREATE TABLE t (id INTEGER)", [], signal);
    assert.ok(existsSync(`${path}-wal`));
    const rows = await target.run(
      "SELECT typeof(?), typeof(?), ?, ?",
      [1, 1.5, true, 2n ** 60n],
      signal,
    );
    assert.deepEqual(rows, [["integer", "real", 1, String(2n ** 60n)]]);
    const connection = await target.connect(1, signal);
    const huge = await say(connection, "SELECT 9223372036854775807");
    assert.deepEqual(huge, { failure: undefined, rowCount: 1 });
  } finally {
    await close();
  }
});

test("[SL4] a URL that names no file, or none that can be opened, is said so", async () => {
  for (const url of ["sqlite://host/t.db", "sqlite:t.db", "sqlite:///t.db?synchronous=yes"]) {
    assert.throws(
      () => createSqliteTarget(url, realClock, createTargetFiles({ dataDir: "/tmp" })),
      (error) => error instanceof OperatingError && error.code === "bad_request",
    );
  }
  const dir = mkdtempSync(join(tmpdir(), "capstan-sqlite-"));
  const files = createTargetFiles({ dataDir: dir });
  const url = `sqlite://${files.pathOf("no/such/directory/t.db")}`;
  const nowhere = createSqliteTarget(url, realClock, files);
  await assert.rejects(nowhere.connect(1, signal), { code: "target_refused" });
  await nowhere.close();
  rmSync(dir, { recursive: true });
});

/**
 * Statements that would leave the database. The text alone gives the first ones away, SQLite's
 * authorizer all of them.
 */
const waysOut = (dir: string): readonly string[] => [
  `ATTACH '${dir}/other.db' AS other`,
  `VACUUM INTO '${dir}/copy.db'`,
  "PRAGMA journal_mode = DELETE",
  "PRAGMA writable_schema = ON",
  "SELECT load_extension('x')",
  "SELECT \"load_extension\"('x')",
  "SELECT * FROM pragma_database_list",
  "DETACH main",
];

test("[SL4] a file that is gone when its connection opens leaves no thread behind", async () => {
  const dir = mkdtempSync(join(tmpdir(), "capstan-sqlite-"));
  const files = createTargetFiles({ dataDir: dir });
  const path = files.pathOf("t.db");
  let looks = 0;
  const resolve = (given: string): string => {
    looks += 1;
    if (looks === 1) return files.resolve(given);
    throw new OperatingError("forbidden", "never", "its directory is gone");
  };
  const target = createSqliteTarget(`sqlite://${path}`, realClock, { ...files, resolve });
  const threads = (): number =>
    process.getActiveResourcesInfo().filter((name) => name === "MessagePort").length;
  const before = threads();
  await assert.rejects(target.connect(1, signal), { code: "forbidden" });
  assert.equal(threads(), before);
  await target.close();
  rmSync(dir, { recursive: true });
});

test("[SL5] a load test stays in its file: the text is judged", async () => {
  const { target, close } = openTemporary();
  try {
    const connection = await target.connect(1, signal);
    for (const sql of waysOut("/tmp")) {
      await assert.rejects(target.run(sql, [], signal), { code: "bad_sql" }, sql);
      const prepared = connection.prepare(operationOf("CUSTOM", sql, {}));
      await assert.rejects(prepared, { code: "bad_sql" }, sql);
    }
  } finally {
    await close();
  }
});

test("[SL5] SQLite itself holds the wall, also for what stands in an allowed file already", async () => {
  const dir = mkdtempSync(join(tmpdir(), "capstan-sqlite-"));
  const path = join(dir, "given.db");
  const planted = new DatabaseSync(path);
  planted.exec("CREATE VIEW out AS SELECT load_extension('x') AS x");
  planted.exec("CREATE VIEW files AS SELECT file FROM pragma_database_list");
  planted.exec("CREATE TABLE t (id INTEGER)");
  closeIn(planted);
  try {
    for (const sql of [...waysOut(dir), `ATTACH ('${dir}' || '/x.db') AS other`]) {
      if (sql.startsWith("DETACH")) continue;
      assert.throws(
        () => planted.prepare(sql).all(),
        /not authorized|authorization denied|prohibited/,
        sql,
      );
    }
    assert.throws(() => planted.exec("SELECT * FROM out"), /not authorized|unsafe use/);
    for (const table of ["files", "'pragma_database_list'", "pragma_table_info('t')"]) {
      const prepare = (): unknown => planted.prepare(`SELECT * FROM ${table}`);
      // Not only when it runs.
      assert.throws(prepare, /not authorized|prohibited|unsafe use/, table);
    }
    assert.throws(() => planted.exec("CREATE VIRTUAL TABLE d USING dbstat"), /not authorized/);
    for (const sql of ["VACUUM", "ANALYZE", "REINDEX", "CREATE VIRTUAL TABLE f USING fts5(x)"]) {
      planted.exec(sql);
    }
    planted.exec("INSERT INTO f VALUES ('a')");
    planted.close();
    const allowed = createTargetFiles({ dataDir: join(dir, "data"), allowed: [path] });
    const target = createSqliteTarget(`sqlite://${path}`, realClock, allowed);
    await target.run("INSERT INTO t VALUES (1)", [], signal);
    // No text gives these away: only the authorizer of the target's own connection does.
    const hidden = ["SELECT * FROM out", "SELECT * FROM files"];
    for (const sql of [...hidden, "CREATE VIRTUAL TABLE d USING dbstat"]) {
      await assert.rejects(target.run(sql, [], signal), { code: "bad_sql" });
    }
    await target.close();
    assert.deepEqual(readdirSync(dir).sort(), ["given.db"]);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
