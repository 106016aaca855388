import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { parseStatement as parse } from "./parse-statement.ts";
import { testDuckDb } from "./testing/duckdb.ts";
import { selectCorpus } from "./testing/select-corpus.ts";
import { testStatements } from "./testing/statement-cases.ts";
import { TokenCursor } from "./token-cursor.ts";

const duckdb = testDuckDb();

const parseStatement = (text: string) => parse(new TokenCursor(text), () => []);

testStatements(join(import.meta.dirname, "testdata", "statements.slt"), parseStatement, "[SQ17]");

test("[SQ17] an empty text has no statement", () => {
  assert.throws(() => parseStatement(""), /there is no statement/);
});

test("[SQ17] the line of a long statement is shown, and of a long line a part", () => {
  const message = (text: string) => {
    try {
      parseStatement(text);
      return "";
    } catch (thrown) {
      return thrown instanceof OperatingError ? thrown.message : String(thrown);
    }
  };
  assert.equal(
    message("CREATE TABLE é (\n  a INT,\n  b INT UNIQUE\n)"),
    "UNIQUE is not supported\nLINE 3:   b INT UNIQUE\n                ^",
  );
  const long = message(`INSERT INTO t SELECT ${"1 + ".repeat(100)} 1 RETURNING a`);
  assert.match(long, /\nLINE 1: ….{60}RETURNING a\n {69}\^$/);
});

test("[SQ10] every SELECT of the corpus is a query, whole", () => {
  for (const sql of selectCorpus) {
    if (/^(DESCRIBE|SHOW) \w+$/.test(sql)) continue;
    assert.deepEqual(parseStatement(`${sql};`), {
      kind: "query",
      query: { text: sql, position: 0 },
    });
  }
});

/** Accepted one after the other, on the tables that earlier ones made. */
const accepted: readonly string[] = [
  "CREATE TABLE a (i INT)",
  "CREATE TABLE IF NOT EXISTS a (i INT, j VARCHAR)",
  "CREATE OR REPLACE TABLE a (i BIGINT NOT NULL, j VARCHAR DEFAULT 'x' || 'y', k DECIMAL(10, 2) DEFAULT -1.5 NULL)",
  "CREATE TABLE main.b (x INTEGER DEFAULT 1 + 2 * 3 NOT NULL, y TIMESTAMP DEFAULT now(), z INT[] DEFAULT [1, 2], w DATE DEFAULT DATE '2024-01-01',)",
  "CREATE TABLE c (a BOOL DEFAULT 1 IS DISTINCT FROM NULL NOT NULL, b INT DEFAULT CASE WHEN 1 IS NULL THEN 1 ELSE 2 END NOT NULL, c BOOL DEFAULT (1 IS NOT NULL), d INT DEFAULT NULL NULL, e INT DEFAULT 1 + NULL)",
  `CREATE TABLE "D d" ("e f" STRUCT(x INT, "y z" VARCHAR[])[], g MAP(VARCHAR, INT), h ENUM('a', 'b'), i UNION(n INT, s VARCHAR), j INT[3], k DOUBLE PRECISION, l TIMESTAMP WITH TIME ZONE, m CHARACTER VARYING(10), n INTERVAL, o "INTEGER", p HUGEINT, q JSON, r INT ARRAY)`,
  "CREATE TABLE e (between INT, values INT, if INT, date DATE, timestamp TIMESTAMP, key VARCHAR)",
  "CREATE TABLE f AS SELECT 1 AS a, 'x' AS b",
  "CREATE OR REPLACE TABLE f AS (SELECT 1 AS a, 'x' AS b)",
  "CREATE TABLE g AS FROM range(3)",
  "CREATE TABLE h AS WITH q AS (SELECT 1 AS n) SELECT * FROM q",
  "CREATE TABLE i AS VALUES (1, 2)",
  "CREATE TABLE k AS TABLE f",
  "CREATE TABLE l AS PIVOT f ON a IN (1) USING count(*)",
  "INSERT INTO a VALUES (1, 'a', 2.5), (2, NULL, NULL)",
  "INSERT INTO a (i) VALUES (3)",
  "INSERT INTO main.a (i, \"j\") SELECT range, 'r' FROM range(4, 6)",
  "INSERT INTO a (i) (SELECT 7)",
  "INSERT INTO a (SELECT 8, 'x', 1)",
  "INSERT INTO a (i) FROM range(9, 10)",
  "INSERT INTO a (i) WITH q AS (SELECT 10 AS n) SELECT n FROM q ORDER BY n LIMIT 1",
  "INSERT INTO e (values, between) VALUES (1, 2)",
  "INSERT INTO a (i) SELECT 1 UNION ALL SELECT 2",
  "INSERT INTO f TABLE f",
  "UPDATE a SET j = 'z'",
  "UPDATE a AS q SET j = q.j || '!', k = greatest(k, 1) WHERE q.i > 3",
  "UPDATE a q SET k = -1, WHERE i = 1 OR i = 2",
  "UPDATE main.a SET k = g.range FROM g WHERE a.i = g.range",
  "UPDATE a SET k = x.range FROM g x JOIN g y ON x.range = y.range, f WHERE a.i = x.range",
  "UPDATE a SET j = CASE WHEN i > 2 THEN 'big' ELSE NULL END, k = (SELECT max(range) FROM g WHERE range < a.i)",
  "UPDATE c SET a = b IS DISTINCT FROM 3, b = b IS NOT DISTINCT FROM 4 WHERE c IS NOT NULL",
  "UPDATE a SET j = list_transform([1, 2], lambda v : v + 1)[1]::VARCHAR WHERE i IN (SELECT range FROM g)",
  "UPDATE e SET values=-1, if=+2",
  "DELETE FROM a WHERE i = 1",
  "DELETE FROM main.a AS q WHERE q.i IN (SELECT range FROM g WHERE range > 2)",
  "DELETE FROM a q USING g, f WHERE q.i = g.range AND f.a = 1",
  "DELETE FROM a",
  "TRUNCATE f",
  "TRUNCATE TABLE f",
  "ALTER TABLE a ADD COLUMN l INT DEFAULT 3",
  "ALTER TABLE a ADD IF NOT EXISTS l INT",
  "ALTER TABLE a RENAME l TO m",
  'ALTER TABLE a RENAME COLUMN m TO "n o"',
  'ALTER TABLE a DROP "n o"',
  "ALTER TABLE a DROP COLUMN IF EXISTS nothing",
  "ALTER TABLE a RENAME TO aa",
  "DROP TABLE aa",
  "DROP TABLE IF EXISTS aa",
  "DROP TABLE main.b RESTRICT",
];

test("[SQ18] what is accepted here DuckDB accepts too", async () => {
  for (const text of accepted) {
    parseStatement(text);
    await duckdb.run(text);
  }
});

test("[SQ18] what is taken apart means the same when it is put together again", async () => {
  const other =
    "CREATE TABLE again (a INT DEFAULT CASE WHEN 1 IS NULL THEN 1 ELSE 2 END NOT NULL, b VARCHAR[] DEFAULT ['x'], c DECIMAL(5, 1) NULL DEFAULT 1 + 1)";
  const statement = parseStatement(other);
  assert(statement.kind === "createTable" && statement.columns !== undefined);
  const columns = statement.columns.map(
    ({ name, type, nullable, defaultValue }) =>
      `"${name}" ${type.text}${nullable ? "" : " NOT NULL"} DEFAULT (${defaultValue?.text ?? "NULL"})`,
  );
  await duckdb.run(other);
  const wanted = await duckdb.rows("DESCRIBE again");
  await duckdb.run(`CREATE OR REPLACE TABLE again (${columns.join(", ")})`);
  const got = await duckdb.rows("DESCRIBE again");
  assert.deepEqual(got, wanted);
});
