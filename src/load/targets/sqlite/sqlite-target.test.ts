/** The contract on a real SQLite, and what only SQLite does. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { OperatingError } from "../../../kernel/errors.ts";
import { realClock } from "../../../kernel/node/real-clock.ts";
import type { Target } from "../../core/target.ts";
import { execute, operationOf } from "../testing/operations.ts";
import { testTarget } from "../testing/target.contract.ts";
import { createSqliteTarget } from "./sqlite-target.ts";

const { signal } = new AbortController();

function openTemporary(settings = ""): { target: Target; close(): Promise<void> } {
  const dir = mkdtempSync(join(tmpdir(), "capstan-sqlite-"));
  const target = createSqliteTarget(`sqlite://${join(dir, "t.db")}${settings}`, realClock);
  return {
    target,
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
  const { target, close } = openTemporary("?synchronous=off");
  try {
    assert.deepEqual(await target.run("PRAGMA journal_mode", [], signal), [["wal"]]);
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
      () => createSqliteTarget(url, realClock),
      (error) => error instanceof OperatingError && error.code === "bad_request",
    );
  }
  const nowhere = createSqliteTarget("sqlite:///no/such/directory/t.db", realClock);
  await assert.rejects(nowhere.connect(1, signal), { code: "target_refused" });
  await nowhere.close();
});
