import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { OperatingError } from "../../ground/kernel/errors.ts";
import { inTime } from "../../ground/kernel/testing/in-time.ts";
import { never, rowsOf, startTestEngine, type TestEngine } from "./testing/test-engine.ts";

let bench: TestEngine;
/** Another user's result, in the directory that DuckDB may touch. */
let secret: string;
before(async () => {
  bench = await startTestEngine();
  secret = join(bench.dir, "secret.parquet");
  await bench.engine.executeToParquet("SELECT 'secret' AS s", secret, never);
});
after(() => bench.close());

async function refusalOf(sql: string): Promise<OperatingError> {
  const path = bench.path();
  try {
    await bench.engine.executeToParquet(sql, path, never);
  } catch (thrown) {
    assert.ok(thrown instanceof OperatingError, String(thrown));
    assert.equal(existsSync(path), false, "no file is left");
    return thrown;
  }
  assert.fail(`ran: ${sql}`);
}

const allowed: readonly (readonly [sql: string, rows: string])[] = [
  ["SELECT 1", "[1]\n"],
  ["SELECT 1;", "[1]\n"],
  ["  ;; SELECT 1 ;; -- done", "[1]\n"],
  ["SELECT 1 -- a comment", "[1]\n"],
  ["SELECT 1 /* ) TO '/tmp/x' ; */", "[1]\n"],
  ["SELECT ')' AS \"(\", ';' AS \"'\"", '[")",";"]\n'],
  ["SELECT '''; DROP TABLE x; --'", '["\'; DROP TABLE x; --"]\n'],
  ["SELECT $$it's $1$$", '["it\'s $1"]\n'],
  ["VALUES (1), (2)", "[1]\n[2]\n"],
  ["FROM range(2)", "[0]\n[1]\n"],
  ["WITH x AS (SELECT 1 AS a) FROM x", "[1]\n"],
  [
    "WITH RECURSIVE x AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM x WHERE a < 3) FROM x",
    "[1]\n[2]\n[3]\n",
  ],
  ["(SELECT 1) UNION ALL (SELECT 2) ORDER BY 1 DESC", "[2]\n[1]\n"],
  ["FROM (VALUES (1, 'x')) t(a, b) PIVOT (sum(a) FOR b IN ('x'))", "[1]\n"],
  ["SELECT unnest([3, 1, 2]) AS x ORDER BY x", "[1]\n[2]\n[3]\n"],
  ["SELECT value FROM json_each('[7]')", "[7]\n"],
  ["SELECT column_name FROM (DESCRIBE SELECT 1 AS a)", '["a"]\n'],
  ["SELECT count(*) > 100 FROM duckdb_functions()", "[true]\n"],
  ["SELECT 1e999, -1e999 AS x", '["Infinity","-Infinity"]\n'],
  [
    "SELECT 1e999, 'a\":Infinity,\\\\', '-Infinity'",
    '["Infinity","a\\":Infinity,\\\\\\\\","-Infinity"]\n',
  ],
  [`SELECT 1${" + 1".repeat(150)}`, "[151]\n"],
];
for (const [sql, rows] of allowed) {
  test(`[QU40] runs: ${sql}`, async () => {
    assert.equal((await rowsOf(bench, sql)).text, rows);
  });
}

const refused = [
  "",
  "   ",
  "-- nothing",
  "SELECT 1; SELECT 2",
  "SELECT 1; DROP TABLE x",
  "SELECT 1\0; SELECT 2",
  "SELECT $1",
  "SELECT ?",
  "EXPLAIN SELECT 1",
  "COPY (SELECT 1) TO '/tmp/capstan-x.csv'",
  "COPY x FROM '/etc/passwd'",
  "ATTACH '/tmp/capstan-x.db'",
  "DETACH memory",
  "USE memory",
  "INSTALL httpfs",
  "LOAD httpfs",
  "LOAD '/tmp/x.so'",
  "SET threads = 1",
  "RESET threads",
  "SET VARIABLE x = 1",
  "PRAGMA version",
  "PRAGMA database_list",
  "CALL range(3)",
  "CHECKPOINT",
  "VACUUM",
  "BEGIN",
  "ROLLBACK",
  "CREATE TABLE t (a INTEGER)",
  "CREATE TEMP TABLE t AS SELECT 1",
  "CREATE MACRO f(x) AS x",
  "CREATE SECRET s (TYPE s3)",
  "INSERT INTO t VALUES (1)",
  "UPDATE t SET a = 1",
  "DELETE FROM t",
  "TRUNCATE t",
  "MERGE INTO t USING u ON true WHEN MATCHED THEN DELETE",
  "ALTER TABLE t RENAME TO u",
  "DROP TABLE t",
  "COMMENT ON TABLE t IS 'x'",
  "EXPORT DATABASE '/tmp/capstan-x'",
  "IMPORT DATABASE '/tmp/capstan-x'",
  "PREPARE p AS SELECT 1",
  "EXECUTE p",
  "DEALLOCATE p",
  "SELECT 1 INTO x",
  "WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x",
  "PIVOT (VALUES (1, 'x')) t(a, b) ON b USING sum(a)",
  "SELECT getenv('HOME')",
  `SELECT 1${" + 1".repeat(5_000)}`,
  `SELECT '${"x".repeat(128 * 1024)}'`,
  `SELECT '${"é".repeat(64 * 1024)}'`,
  `SELECT 1 IN (${"1,".repeat(490_000)}1)`,
];
for (const sql of refused) {
  test(`[QU40] refuses: ${JSON.stringify(sql.slice(0, 80))}`, async () => {
    assert.equal((await refusalOf(sql)).code, "bad_sql");
  });
}

/** `$S` is the other result's file, `$D` its directory. */
const fileReading = [
  "FROM '/etc/passwd'",
  "FROM read_csv('/etc/passwd')",
  "FROM READ_CSV_AUTO('/etc/passwd')",
  "FROM read_text('/etc/passwd')",
  "FROM read_blob('/proc/self/environ')",
  "FROM read_json('/etc/passwd')",
  "FROM glob('/etc/*')",
  "FROM glob('$D/*')",
  "FROM sniff_csv('/etc/passwd')",
  "FROM '$S'",
  'FROM "$S"',
  "FROM '$D/*.parquet'",
  "FROM '$D/../$D/secret.parquet'",
  "FROM 'file://$S'",
  "FROM 's3://bucket/x.parquet'",
  "FROM 'https://example.com/x.parquet'",
  "FROM read_parquet('$S')",
  "FROM read_parquet(['$S'])",
  "FROM parquet_scan('$S')",
  "FROM parquet_metadata('$S')",
  "FROM parquet_kv_metadata('$S')",
  "FROM read_duckdb('$S')",
  "FROM system.main.read_parquet('$S')",
  "FROM \"read_parquet\"('$S')",
  "SELECT (SELECT s FROM read_parquet('$S'))",
  "SELECT 1 WHERE EXISTS (FROM read_parquet('$S'))",
  "SELECT list_transform([1], lambda x: (SELECT s FROM read_parquet('$S')))",
  "SELECT 1 ORDER BY (SELECT s FROM '$S')",
  "SELECT 1 LIMIT (SELECT count(*) FROM '$S')",
  "SELECT row_number() OVER (ORDER BY (SELECT s FROM '$S'))",
  "WITH x AS (FROM read_parquet('$S')) FROM x",
  "WITH x AS MATERIALIZED (FROM '$S') FROM x",
  "SELECT 1 UNION ALL SELECT s FROM '$S'",
  "FROM range(1) POSITIONAL JOIN '$S'",
  "FROM range(1) t(i), LATERAL (FROM read_parquet('$S'))",
  "SELECT 1 IN (FROM '$S')",
  "FROM '$S' PIVOT (count(*) FOR s IN ('secret'))",
  "UNPIVOT '$S' ON s",
  "DESCRIBE '$S'",
  "SUMMARIZE '$S'",
  "FROM (DESCRIBE FROM read_parquet('$S'))",
  "FROM query('FROM ''$S''')",
  "FROM query_table('$S')",
  "FROM query_table(['$S'])",
  "FROM histogram('$S', 's')",
  "FROM histogram_values('$S', 's')",
  "FROM json_execute_serialized_sql(json_serialize_sql('FROM ''$S'''))",
  "FROM arrow_scan(1::UBIGINT::POINTER, 2::UBIGINT::POINTER, 3::UBIGINT::POINTER)",
  "FROM seq_scan('x')",
  "SELECT json_serialize_plan('FROM ''$S''')",
  "SELECT 'FROM ''$S'''.json_serialize_plan()",
  "SELECT JSON_Serialize_Plan('FROM ''$S''')",
  "SELECT current_setting('temp_directory')",
  "SELECT current_query()",
  "SELECT error(Current_Query())",
  "SELECT 1 WHERE current_query() LIKE '%spool%'",
  "SELECT pg_get_viewdef(range::BIGINT) FROM range(2000)",
  "SELECT Current_Setting('allowed_' || 'directories')",
  "SELECT 'secret_directory'.current_setting()",
  "SELECT list_transform(['x'], lambda x: write_log(x))",
  "FROM enable_logging()",
  "FROM duckdb_logs()",
  "FROM duckdb_settings()",
  "FROM duckdb_secrets()",
  "FROM duckdb_temporary_files()",
  "FROM checkpoint()",
  "FROM sql_auto_complete('SEL')",
];
for (const template of fileReading) {
  test(`[QU41] refuses: ${template}`, async () => {
    const sql = template.replaceAll("$S", secret).replaceAll("$D", bench.dir);
    const error = await refusalOf(sql);
    assert.equal(error.code, "bad_sql");
    assert.doesNotMatch(error.message, /root:|secret'/);
  });
}

test("[QU41] a path in two halves is a path all the same", async () => {
  const half = secret.slice(0, -".parquet".length);
  for (const sql of [`FROM "${half}"."parquet"`, `FROM "${half}".parquet`]) {
    assert.match((await refusalOf(sql)).message, /files cannot be read here/);
  }
});

test("[QU41] DuckDB's own wall stands behind ours", async () => {
  const relative = await refusalOf("FROM 'package.json'");
  assert.match(relative.message, /file system operations are disabled/);
});

test("[QU41] every table function that is not known to be harmless is refused", async () => {
  const { text } = await rowsOf(
    bench,
    "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type LIKE 'table%' ORDER BY 1",
  );
  const names = text
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as [string])[0]);
  assert.ok(names.length > 90);
  const ran: string[] = [];
  for (const name of names) {
    const error = await refusalOf(`FROM "${name}"(NULL, 'no such argument', 3, 4)`);
    if (!error.message.includes("cannot be used here")) ran.push(name);
  }
  const dangerous = ran.filter((name) =>
    /read|scan|glob|query|log|execute|secret|metadata/.test(name),
  );
  assert.deepEqual(dangerous, []);
  assert.ok(ran.length > 10 && ran.length < 40, ran.join());
});

test("[QU42] errors carry DuckDB's message and the place", async () => {
  const cases: readonly (readonly [sql: string, message: string])[] = [
    ["SELEC 1", 'Parser Error: syntax error at or near "SELEC"\nLINE 1: SELEC 1\n        ^'],
    [
      "SELECT 1,\n  'é', nope\nFROM range(1)",
      'Binder Error: Referenced column "nope" not found in FROM clause!\nCandidate bindings: "range"\nLINE 2:   \'é\', nope\n               ^',
    ],
    [
      "SELECT 'abc'::INTEGER",
      "Conversion Error: Could not convert string 'abc' to INT32\nLINE 1: SELECT 'abc'::INTEGER\n                    ^",
    ],
    ["SELECT error('mine')", "Invalid Input Error: mine"],
    [
      "FROM read_csv('x')",
      "the table function read_csv cannot be used here\nLINE 1: FROM read_csv('x')\n             ^",
    ],
    ["SELECT 1; SELECT 2", "one statement at a time: here are 2"],
    ["DROP TABLE x", "only SELECT statements can be run here"],
  ];
  for (const [sql, message] of cases) {
    const error = await refusalOf(sql);
    assert.equal(error.message, message);
    assert.equal(error.retry, "never");
  }
});

const nested = [
  `SELECT ${"[".repeat(900)}1${"]".repeat(900)}`,
  `SELECT 1${" + 1".repeat(900)}`,
  `SELECT 'a'${" || 'a'".repeat(900)}`,
  `SELECT 1e999, ${"abs(".repeat(900)}1${")".repeat(900)}`,
];
for (const sql of nested) {
  test(`[QU40] refuses quickly: ${sql.slice(0, 20)}`, async () => {
    await inTime(1_000, async () => {
      const startMs = performance.now();
      const error = await refusalOf(sql);
      assert.equal(error.message, "the statement is nested too deeply");
      return performance.now() - startMs;
    });
  });
}

test("[QU48] a statement cannot make the engine seem broken", async () => {
  const text = "database has been invalidated";
  const json = `{"exception_type":"FATAL","exception_message":"${text}"}`;
  for (const said of [text, json, `FATAL Error: ${json}`]) {
    const error = await refusalOf(`SELECT error('${said}')`);
    assert.equal(error.code, "bad_sql");
    assert.equal(error.message, `Invalid Input Error: ${said}`);
  }
  assert.equal((await rowsOf(bench, "SELECT 1")).text, "[1]\n");
});

test("[QU40] nothing that was refused has touched anything", () => {
  const left = readdirSync(bench.dir).filter(
    (name) => !/^(result-\d+|secret)\.parquet$/.test(name),
  );
  assert.deepEqual(left, ["temp"]);
  for (const path of ["/tmp/capstan-x", "/tmp/capstan-x.csv", "/tmp/capstan-x.db"]) {
    assert.equal(existsSync(path), false);
  }
});
