/** The contract on a real DuckDB, and what only DuckDB does. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { DuckDBInstance } from "@duckdb/node-api";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { duckdbTableFunctions, isRefusedFunction } from "../../core/check-target-sql.ts";
import type { Target } from "../../core/target.ts";
import { createTargetFiles, type TargetFiles } from "../target-files.ts";
import { execute, operationOf } from "../testing/operations.ts";
import { testTarget } from "../testing/target.contract.ts";
import { closedIn, createDuckdbTarget } from "./duckdb-target.ts";

const { signal } = new AbortController();

function openTemporary(): {
  target: Target;
  path: string;
  files: TargetFiles;
  close(): Promise<void>;
} {
  const dir = mkdtempSync(join(tmpdir(), "capstan-duckdb-"));
  const files = createTargetFiles({ dataDir: dir });
  const path = files.pathOf("t.duckdb");
  const target = createDuckdbTarget(`duckdb://${path}?threads=1`, realClock, files);
  return {
    target,
    path,
    files,
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
  const { target, path, files, close } = openTemporary();
  const other = createDuckdbTarget(`duckdb://${path}?threads=1`, realClock, files);
  try {
    await target.run("CREATE TABLE t (id BIGINT)", [], signal);
    await other.run("INSERT INTO t VALUES (7)", [], signal);
    assert.deepEqual(await target.run("SELECT id FROM t", [], signal), [[7]]);
    const script = `
      const { createDuckdbTarget } = await import(${JSON.stringify(new URL("./duckdb-target.ts", import.meta.url))});
      const { realClock } = await import(${JSON.stringify(new URL("../../../../ground/kernel/node/real-clock.ts", import.meta.url))});
      await createDuckdbTarget("duckdb://${path}", realClock, { resolve: (given) => given }).connect(1, new AbortController().signal).catch((error) => {
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
      () => createDuckdbTarget(url, realClock, createTargetFiles({ dataDir: "/tmp" })),
      (error) => error instanceof OperatingError && error.code === "bad_request",
      url,
    );
  }
});

/** `dir` has a file `secret.txt` that is nobody's business. */
const waysOut = (dir: string, own: string): readonly string[] => [
  `COPY (SELECT content FROM read_text('${dir}/secret.txt')) TO '${dir}/out.txt'`,
  `COPY t TO '${own}.wal'`,
  `SELECT * FROM read_text('${dir}/secret.txt')`,
  `SELECT * FROM "read_text"/* */('${dir}/secret.txt')`,
  `SELECT size FROM read_blob('${own}')`,
  `INSERT INTO t SELECT 1 FROM read_text('${dir}/secret.txt')`,
  `CREATE TABLE x AS FROM '${dir}/secret.txt'`,
  `CREATE VIEW x AS SELECT * FROM main.read_csv('${dir}/secret.txt')`,
  `CREATE MACRO m(p) AS TABLE SELECT * FROM query('SELECT 1')`,
  `SELECT * FROM query('FROM read_text(''${dir}/secret.txt'')')`,
  `SELECT * FROM glob('${dir}/*')`,
  `ATTACH '${dir}/other.db' AS other`,
  "ATTACH ':memory:' AS other",
  "DETACH t",
  `EXPORT DATABASE '${dir}/exported'`,
  `IMPORT DATABASE '${dir}'`,
  `PRAGMA import_database('${dir}')`,
  "INSTALL httpfs",
  "LOAD json",
  "SET threads = 1",
  "RESET threads",
  "PRAGMA enable_profiling",
  `CALL enable_logging(storage = 'file', storage_path = '${dir}/log')`,
  `SELECT * FROM enable_logging(storage := 'file', storage_path := '${dir}/log')`,
  "CREATE PERSISTENT SECRET s (TYPE http, BEARER_TOKEN 'x')",
  "CREATE OR REPLACE SECRET s (TYPE http, BEARER_TOKEN 'x')",
  `PREPARE p AS COPY t TO '${dir}/out.txt'`,
  `EXPLAIN ANALYZE COPY t TO '${dir}/out.txt'`,
  "SELECT current_setting('temp_directory')",
  "SELECT * FROM duckdb_settings()",
  "SELECT * FROM arrow_scan(1::POINTER, 2::POINTER, 3::POINTER)",
];

test("[DK6] a load test stays in its file, whatever its statement is and where it stands", async () => {
  const { target, path, close } = openTemporary();
  const dir = mkdtempSync(join(tmpdir(), "capstan-out-"));
  try {
    writeFileSync(join(dir, "secret.txt"), "sesame");
    await target.run("CREATE TABLE t (id BIGINT)", [], signal);
    const connection = await target.connect(1, signal);
    for (const sql of waysOut(dir, path)) {
      await assert.rejects(target.run(sql, [], signal), { code: "bad_sql" }, sql);
      const prepared = connection.prepare(operationOf("CUSTOM", sql, {}));
      await assert.rejects(prepared, { code: "bad_sql" }, sql);
    }
    for (const sql of [
      "INSERT INTO t SELECT range FROM range(3)",
      "WITH n AS (SELECT max(id) AS m FROM t) UPDATE t SET id = m FROM n WHERE t.id = m",
      "CREATE TABLE query (a INTEGER)",
      "INSERT INTO query (a) VALUES (extract(year FROM DATE '2024-01-01'))",
      "CREATE INDEX i ON t (id)",
      "ALTER TABLE t ADD COLUMN note VARCHAR",
      "MERGE INTO t USING query ON false WHEN NOT MATCHED THEN INSERT (id) VALUES (9)",
      "DELETE FROM t WHERE id IS DISTINCT FROM 9",
      "EXPLAIN ANALYZE SELECT * FROM t",
      ...["CHECKPOINT", "ANALYZE", "VACUUM", "TRUNCATE query", "DROP TABLE query", "SHOW TABLES"],
    ]) {
      await target.run(sql, [], signal);
    }
    assert.deepEqual(readdirSync(dir), ["secret.txt"]);
  } finally {
    await close();
    rmSync(dir, { recursive: true });
  }
});

test("[DK5] DuckDB itself holds the wall, also for what stands in an allowed file already", async () => {
  const dir = mkdtempSync(join(tmpdir(), "capstan-given-"));
  const path = join(dir, "given.db");
  const secret = join(dir, "secret.txt");
  writeFileSync(secret, "sesame");
  const planted = await DuckDBInstance.create(path);
  const maker = await planted.connect();
  await maker.run(`CREATE VIEW out AS SELECT content FROM read_text('${secret}')`);
  await maker.run(`CREATE MACRO out_m() AS TABLE SELECT content FROM read_text('${secret}')`);
  maker.closeSync();
  planted.closeSync();
  const files = createTargetFiles({ dataDir: join(dir, "data"), allowed: [path] });
  const target = createDuckdbTarget(`duckdb://${path}`, realClock, files);
  try {
    assert.deepEqual(await target.run("SELECT 1", [], signal), [[1]]);
    for (const sql of ["SELECT * FROM out", "SELECT * FROM out_m()"]) {
      await assert.rejects(target.run(sql, [], signal), (error: OperatingError) => {
        assert.doesNotMatch(error.message, /sesame/);
        return error.code === "bad_sql";
      });
    }
    // Past the session, as if no text had been judged: the instance is the same.
    const instance = await DuckDBInstance.fromCache(path, closedIn);
    const raw = await instance.connect();
    for (const sql of [
      `SELECT content FROM read_text('${secret}')`,
      `COPY (SELECT 1) TO '${dir}/out.txt'`,
      `ATTACH '${dir}/other.db' AS other`,
      "SET enable_external_access = true",
      "SET lock_configuration = false",
      "INSTALL httpfs",
    ]) {
      await assert.rejects(raw.run(sql), /Permission|configuration/, sql);
    }
    raw.closeSync();
    instance.closeSync();
  } finally {
    await target.close();
    assert.equal(readFileSync(secret, "utf8"), "sesame");
    rmSync(dir, { recursive: true });
  }
});

test("[DK6] every table function and pragma of this DuckDB is either harmless by name or refused", async () => {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  const reader = await connection.runAndReadAll(
    "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type IN ('table', 'pragma', 'table_macro')",
  );
  const unjudged = reader
    .getRowsJS()
    .map(([name]) => String(name))
    .filter((name) => !duckdbTableFunctions.has(name) && !isRefusedFunction("duckdb", name));
  connection.closeSync();
  instance.closeSync();
  assert.deepEqual(unjudged, []);
});
