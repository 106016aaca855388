/** The contract on a real DuckDB, and what only DuckDB does. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { OperatingError } from "../../../kernel/errors.ts";
import { realClock } from "../../../kernel/node/real-clock.ts";
import type { Target } from "../../core/target.ts";
import { execute, operationOf } from "../testing/operations.ts";
import { testTarget } from "../testing/target.contract.ts";
import { createDuckdbTarget } from "./duckdb-target.ts";

const { signal } = new AbortController();

function openTemporary(): { target: Target; path: string; close(): Promise<void> } {
  const dir = mkdtempSync(join(tmpdir(), "capstan-duckdb-"));
  const path = join(dir, "t.duckdb");
  const target = createDuckdbTarget(`duckdb://${path}?threads=1`, realClock);
  return {
    target,
    path,
    close: async () => {
      await target.close();
      rmSync(dir, { recursive: true });
    },
  };
}

testTarget("duckdb", async () => {
  const { target, close } = openTemporary();
  return {
    target,
    cutConnections: undefined,
    slowSql: "SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b",
    types: ["bigint", "double", "text", "boolean", "timestamp"],
    close,
  };
});

test("[DK1] connections of one file share one instance; another process is told why it cannot", async () => {
  const { target, path, close } = openTemporary();
  const other = createDuckdbTarget(`duckdb://${path}?threads=1`, realClock);
  try {
    await target.run("CREATE TABLE t (id BIGINT)", [], signal);
    await other.run("INSERT INTO t VALUES (7)", [], signal);
    assert.deepEqual(await target.run("SELECT id FROM t", [], signal), [[7]]);
    const script = `
      const { createDuckdbTarget } = await import(${JSON.stringify(new URL("./duckdb-target.ts", import.meta.url))});
      const { realClock } = await import(${JSON.stringify(new URL("../../../kernel/node/real-clock.ts", import.meta.url))});
      await createDuckdbTarget("duckdb://${path}", realClock).connect(1, new AbortController().signal).catch((error) => {
        process.stdout.write(error.code + " " + error.hint);
      });`;
    const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", script]);
    assert.match(String(stdout), /^target_refused .*one worker/);
  } finally {
    await other.close();
    await close();
  }
});

test("[DK2] a failure's kind is its class; what it quotes of values is left out", async () => {
  const { target, close } = openTemporary();
  try {
    await target.run("CREATE TABLE t (id BIGINT PRIMARY KEY, word VARCHAR)", [], signal);
    await target.run("INSERT INTO t VALUES (1, 'a')", [], signal);
    const one = await target.connect(1, signal);
    const two = await target.connect(1, signal);
    const say = async (connection: typeof one, sql: string) =>
      execute(await connection.prepare(operationOf("CUSTOM", sql, {})), []);
    const cast = operationOf("CUSTOM", "SELECT CAST(:word AS BIGINT)", { word: "text" });
    const { failure } = await execute(await one.prepare(cast), ["rumpelstilz"]);
    assert.deepEqual([failure?.kind, failure?.code], ["other", "Conversion"]);
    assert.doesNotMatch(failure?.message ?? "", /rumpel/);
    for (const connection of [one, two]) await say(connection, "BEGIN");
    await say(one, "UPDATE t SET word = 'b' WHERE id = 1");
    const conflict = await say(two, "UPDATE t SET word = 'c' WHERE id = 1");
    assert.equal(conflict.failure?.kind, "serialization");
  } finally {
    await close();
  }
});

test("[DK3] a timestamp that is a number is milliseconds since 1970; what JSON has not is text", async () => {
  const { target, close } = openTemporary();
  try {
    await target.run("CREATE TABLE t (moment TIMESTAMP)", [], signal);
    const connection = await target.connect(1, signal);
    const put = await connection.prepare(
      operationOf("INSERT", "INSERT INTO t VALUES (:moment)", { moment: "timestamp" }),
    );
    const ms = Date.UTC(1999, 11, 31, 23, 59, 59, 123);
    for (const at of [ms, "1999-12-31T23:59:59.123Z"]) {
      assert.equal((await execute(put, [at])).failure, undefined);
    }
    const rows = await target.run(
      "SELECT moment, 9007199254740993, 'NaN'::DOUBLE FROM t",
      [],
      signal,
    );
    const want = ["1999-12-31T23:59:59.123Z", "9007199254740993", "NaN"];
    assert.deepEqual(rows, [want, want]);
    const bound = await target.run("SELECT $1 + 1, $2", [41, "x"], signal);
    assert.deepEqual(bound, [[42, "x"]]);
  } finally {
    await close();
  }
});

test("[DK4] a URL names a file by its absolute path, and settings that there are", () => {
  for (const url of [
    "duckdb://host/t.db",
    "duckdb:t.db",
    "duckdb:///",
    "sqlite:///t.db",
    "duckdb:///t.db?threads=0",
    "duckdb:///t.db?constructor=1",
    "nonsense",
  ]) {
    assert.throws(
      () => createDuckdbTarget(url, realClock),
      (error) => error instanceof OperatingError && error.code === "bad_request",
      url,
    );
  }
});
