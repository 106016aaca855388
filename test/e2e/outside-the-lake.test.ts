/**
 * SQL that tries to read or change what is not the lake's: files, environment, network, the engine,
 * by every way in that there is.
 */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Cluster, http, startCluster, stopEverything, waitFor } from "./harness.ts";

const secret = "hunter2-is-the-secret";
let cluster: Cluster;
let canary: Server;
let requests = 0;
let outside: string;

before(async () => {
  canary = createServer((_request, response) => {
    requests += 1;
    response.end(`a\n${secret}\n`);
  });
  await new Promise<void>((resolve) => canary.listen(0, "127.0.0.1", resolve));
  cluster = await startCluster({ workers: 1, env: { OWN_SECRET: secret } });
  await cluster.waitForWorkers("ACTIVE", ["worker-1"]);
  outside = join(cluster.dataDir, "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "secret.csv"), `a\n${secret}\n`);
  await ask("CREATE TABLE t (a INTEGER, b VARCHAR)");
  await ask("INSERT INTO t VALUES (1, 'one'), (2, 'two')");
});
after(async () => {
  await cluster.stop();
  await stopEverything();
  canary.close();
});

/** The whole answer, and whether it is an error. */
async function ask(sql: string): Promise<{ readonly failed: boolean; readonly text: string }> {
  const response = await http(`${cluster.url}/api/v1/sql`, { method: "POST", body: { sql } });
  const text = await response.text();
  const last = JSON.parse(text.trimEnd().split("\n").at(-1) ?? "null") as { error?: unknown };
  return { failed: !response.ok || last.error !== undefined, text };
}

async function refused(sql: string): Promise<void> {
  const { failed, text } = await ask(sql);
  assert.ok(failed, `ran: ${sql}\n${text}`);
  assert.ok(!text.includes(secret), `${sql}\n${text}`);
  assert.doesNotMatch(text, /"code":"(query_failed|work_poisonous|store_corrupt)"/, sql);
}

/** `$F` a file, `$D` the data directory, `$H` a server. */
const filled = (text: string): string =>
  text
    .replaceAll("$F", join(outside, "secret.csv"))
    .replaceAll("$D", cluster.dataDir)
    .replaceAll("$H", `http://127.0.0.1:${(canary.address() as AddressInfo).port}`);

const relations = [
  "'$F'",
  '"$F"',
  "read_csv('$F')",
  "read_text('$F')",
  "read_blob('$F')",
  "read_text('file://$F')",
  "glob('$D/*')",
  "sniff_csv('$F')",
  "'$H/x.csv'",
  "read_csv('$H/x.csv')",
  "read_parquet('s3://bucket/x.parquet')",
  "read_parquet('$D/lake/main/t/*.parquet')",
  "parquet_metadata('$D/lake/main/t/*.parquet')",
  "sqlite_scan('$D/store.sqlite', 'workers')",
  "query('FROM read_text(''$F'')')",
  "query_table('$F')",
  "duckdb_settings()",
  "duckdb_secrets()",
  "pragma_database_list",
  "duckdb_temporary_files()",
];

/** Where a relation may stand. */
const carriers = [
  "SELECT * FROM $R",
  "FROM t, LATERAL (FROM $R)",
  "WITH x AS (FROM $R) FROM x",
  "SELECT (SELECT count(*) FROM $R) FROM t",
  "SELECT * FROM t ORDER BY (SELECT count(*) FROM $R)",
  "SELECT * FROM t LIMIT (SELECT count(*) FROM $R)",
  "SELECT * FROM t WHERE EXISTS (FROM $R)",
  "EXPLAIN SELECT * FROM $R",
  "EXPLAIN ANALYZE SELECT * FROM $R",
  "DESCRIBE SELECT * FROM $R",
  "SUMMARIZE SELECT * FROM $R",
  "INSERT INTO t SELECT 1, x::VARCHAR FROM $R AS r(x)",
  "INSERT INTO t BY NAME SELECT count(*) AS a FROM $R",
  "INSERT INTO t VALUES ((SELECT count(*) FROM $R), 'x')",
  "UPDATE t SET b = (SELECT count(*) FROM $R)",
  "UPDATE t SET b = 'x' FROM $R AS r WHERE true",
  "DELETE FROM t WHERE a < (SELECT count(*) FROM $R)",
  "DELETE FROM t USING $R AS r WHERE true",
  "CREATE TABLE carried AS SELECT * FROM $R",
  "CREATE TABLE carried (a BIGINT DEFAULT (SELECT count(*) FROM $R))",
  "CREATE TABLE carried (a ENUM (SELECT * FROM $R))",
  "CREATE TABLE carried (a INTEGER CHECK (a < (SELECT count(*) FROM $R)))",
  "ALTER TABLE t ADD COLUMN carried BIGINT DEFAULT (SELECT count(*) FROM $R)",
  "CREATE DYNAMIC TABLE carried TARGET_LAG = '1 minute' AS SELECT * FROM $R",
  "CREATE DYNAMIC TABLE carried TARGET_LAG = '1 minute' AS SELECT a, (SELECT count(*) FROM $R) AS n FROM t",
  "SELECT * FROM t AT (VERSION => (SELECT count(*) FROM $R))",
];

test("[LX1] no relation outside of the lake is read, wherever it stands", async () => {
  const lanes = carriers.map(async (carrier) => {
    for (const relation of relations) await refused(filled(carrier.replace("$R", relation)));
  });
  await Promise.all(lanes);
  assert.equal(requests, 0, "nothing went over the network");
});

test("[LX1] the same places take a relation that is no harm", async () => {
  const reading = carriers.filter((carrier) =>
    /^(SELECT|FROM|WITH|EXPLAIN|DESCRIBE|SUMM)/.test(carrier),
  );
  for (const carrier of reading.filter((each) => !each.includes(" AT "))) {
    const { failed, text } = await ask(carrier.replace("$R", "range(1)"));
    assert.equal(failed, false, `${carrier}\n${text}`);
  }
});

const expressions = [
  "getenv('OWN_SECRET')",
  "current_setting('temp_directory')",
  "json_serialize_plan('FROM read_text(''$F'')')",
  "'$F'.read_text()",
  "write_log('x')",
  "CAST('x' AS ENUM (SELECT content FROM read_text('$F')))",
];
const expressionCarriers = [
  "SELECT $E",
  "SELECT $E FROM t",
  "SELECT * FROM t WHERE b = $E",
  "INSERT INTO t VALUES (1, $E)",
  "UPDATE t SET b = $E",
  "DELETE FROM t WHERE b = $E",
  "CREATE TABLE carried AS SELECT $E AS x",
  "CREATE TABLE carried (a VARCHAR DEFAULT $E)",
  "ALTER TABLE t ADD COLUMN carried VARCHAR DEFAULT $E",
  "CREATE DYNAMIC TABLE carried TARGET_LAG = '1 minute' AS SELECT $E AS x, a FROM t",
  "EXPLAIN ANALYZE SELECT $E FROM t",
];

test("[LX1] no expression tells of the process or its files", async () => {
  const lanes = expressionCarriers.map(async (carrier) => {
    for (const expression of expressions) await refused(filled(carrier.replace("$E", expression)));
  });
  await Promise.all(lanes);
});

const statements = [
  "ATTACH '$D/store.sqlite' (TYPE sqlite)",
  "ATTACH '$D/made.db'",
  "DETACH memory",
  "USE memory",
  "INSTALL httpfs",
  "LOAD httpfs",
  "LOAD '$F'",
  "SET enable_external_access = true",
  "SET GLOBAL allowed_directories = ['/']",
  "RESET enable_external_access",
  "PRAGMA enable_external_access",
  "PRAGMA database_list",
  "CALL enable_logging()",
  "COPY t TO '$D/made.csv'",
  "COPY (SELECT 1) TO '$D/made.csv'",
  "COPY t FROM '$F'",
  "COPY t FROM '$H/x.csv'",
  "EXPORT DATABASE '$D/made'",
  "IMPORT DATABASE '$D'",
  "CREATE VIEW hidden AS SELECT * FROM read_text('$F')",
  "CREATE OR REPLACE VIEW t AS SELECT * FROM read_text('$F')",
  "CREATE MACRO hidden() AS TABLE FROM read_text('$F')",
  "CREATE FUNCTION hidden() AS (SELECT content FROM read_text('$F'))",
  "CREATE TEMP TABLE hidden AS FROM read_text('$F')",
  "CREATE SECRET hidden (TYPE s3, KEY_ID 'x', SECRET 'y')",
  "CREATE TYPE hidden AS ENUM (SELECT content FROM read_text('$F'))",
  "SELECT 1; COPY t TO '$D/made.csv'",
  "SELECT 1 INTO OUTFILE '$D/made.csv'",
  "WITH x AS (FROM read_text('$F')) INSERT INTO t SELECT 1, content FROM x",
  "INSERT INTO t SELECT 1, 'x'); COPY t TO '$D/made.csv'; --",
  "UPDATE t SET b = 'x') FROM read_text('$F') --",
  "CREATE TABLE carried (a INTEGER); ATTACH '$D/made.db'",
  "CREATE TABLE carried (a \"INTEGER); ATTACH ''$D/made.db''; --\")",
  "DROP TABLE main.t; SELECT * FROM read_text('$F')",
];

test("[LX1] no statement leaves the lake, changes the engine or writes a file", async () => {
  for (const statement of statements) await refused(filled(statement));
  for (const name of ["made.csv", "made.db", "made"]) {
    assert.equal(existsSync(join(cluster.dataDir, name)), false, name);
  }
  assert.equal(requests, 0);
});

test("[LX2] all of that changed nothing, and cost no worker", async () => {
  const { text } = await ask("SELECT a, b FROM t ORDER BY a");
  assert.match(text, /\[1,"one"\]\n\[2,"two"\]/);
  const tables = await ask("SHOW TABLES");
  assert.ok(!/carried|hidden/.test(tables.text), tables.text);
  const died = cluster.events.filter(({ event }) => event === "died");
  assert.deepEqual(died, []);
  await waitFor("an answer", async () => ((await ask("SELECT 1")).failed ? undefined : true));
});
