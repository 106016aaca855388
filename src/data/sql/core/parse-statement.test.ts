import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { parseStatement as parse } from "./parse-statement.ts";
import { testDuckDb } from "./testing/duckdb.ts";
import { selectCorpus } from "./testing/select-corpus.ts";
import { testStatements } from "./testing/statement-cases.ts";
import { TokenCursor } from "./token-cursor.ts";

const duckdb = testDuckDb();

const parseStatement = (text: string) => parse(new TokenCursor(text), () => []);

const cases: readonly (readonly [rule: string, text: string, statement: unknown])[] = [
  ["[SQ10]", " ;; SELECT 1 -- one\n ;", { kind: "query", query: "SELECT 1" }],
  ["[SQ10]", "VALUES (1)", { kind: "query", query: "VALUES (1)" }],
  ["[SQ10]", "(SELECT 1)", { kind: "query", query: "(SELECT 1)" }],
  [
    "[SQ10]",
    "WITH update AS (SELECT 1) FROM update",
    { kind: "query", query: "WITH update AS (SELECT 1) FROM update" },
  ],
  ["[SQ10]", "SUMMARIZE t", { kind: "query", query: "SUMMARIZE t" }],
  ["[SQ10]", "DESCRIBE SELECT 1", { kind: "query", query: "DESCRIBE SELECT 1" }],
  ["[SQ10]", "explain from t", { kind: "explain", query: "from t" }],
  ["[SQ10]", "EXPLAIN ANALYZE SELECT 1;", { kind: "explain", analyze: true, query: "SELECT 1" }],
  ["[SQ10]", "EXPLAIN (SELECT 1)", { kind: "explain", query: "(SELECT 1)" }],
  [
    "[SQ11]",
    "CREATE TABLE t (a INT)",
    { kind: "createTable", table: "t", columns: [{ name: "a", type: "INT", nullable: true }] },
  ],
  [
    "[SQ11]",
    `create or replace table S."My T" ("a b" DECIMAL(10, 2) NOT NULL DEFAULT 1 + 2, c STRUCT(x INT, y VARCHAR[])[3] DEFAULT NULL NULL,)`,
    {
      kind: "createTable",
      table: "S.My T",
      orReplace: true,
      columns: [
        { name: "a b", type: "DECIMAL(10, 2)", defaultValue: "1 + 2" },
        { name: "c", type: "STRUCT(x INT, y VARCHAR[])[3]", nullable: true, defaultValue: "NULL" },
      ],
    },
  ],
  [
    "[SQ11]",
    "CREATE TABLE IF NOT EXISTS t (a TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL, b BOOL DEFAULT 1 IS DISTINCT FROM NULL NOT NULL, c INT DEFAULT CASE WHEN 1 IS NOT NULL AND true THEN 1 ELSE NULL END NULL)",
    {
      kind: "createTable",
      table: "t",
      ifNotExists: true,
      columns: [
        { name: "a", type: "TIMESTAMP WITH TIME ZONE", defaultValue: "now()" },
        { name: "b", type: "BOOL", defaultValue: "1 IS DISTINCT FROM NULL" },
        {
          name: "c",
          type: "INT",
          nullable: true,
          defaultValue: "CASE WHEN 1 IS NOT NULL AND true THEN 1 ELSE NULL END",
        },
      ],
    },
  ],
  [
    "[SQ11]",
    "CREATE TABLE t AS SELECT 1 AS a -- end",
    { kind: "createTable", table: "t", query: "SELECT 1 AS a" },
  ],
  ["[SQ11]", "CREATE TABLE t AS (FROM u)", { kind: "createTable", table: "t", query: "(FROM u)" }],
  ["[SQ11]", "DROP TABLE t", { kind: "dropTable", table: "t" }],
  [
    "[SQ11]",
    "DROP TABLE IF EXISTS s.t RESTRICT",
    { kind: "dropTable", table: "s.t", ifExists: true },
  ],
  [
    "[SQ11]",
    "ALTER TABLE t ADD COLUMN c INT DEFAULT 3",
    {
      kind: "alterTable",
      table: "t",
      change: {
        kind: "addColumn",
        column: { name: "c", type: "INT", nullable: true, defaultValue: "3" },
      },
    },
  ],
  [
    "[SQ11]",
    "ALTER TABLE t ADD IF NOT EXISTS if INT",
    {
      kind: "alterTable",
      table: "t",
      change: {
        kind: "addColumn",
        ifNotExists: true,
        column: { name: "if", type: "INT", nullable: true },
      },
    },
  ],
  [
    "[SQ11]",
    "ALTER TABLE t DROP c",
    { kind: "alterTable", table: "t", change: { kind: "dropColumn", column: "c" } },
  ],
  [
    "[SQ11]",
    "ALTER TABLE t DROP COLUMN IF EXISTS c",
    { kind: "alterTable", table: "t", change: { kind: "dropColumn", column: "c", ifExists: true } },
  ],
  [
    "[SQ11]",
    'ALTER TABLE t RENAME a TO "B b"',
    { kind: "alterTable", table: "t", change: { kind: "renameColumn", column: "a", to: "B b" } },
  ],
  [
    "[SQ11]",
    "ALTER TABLE t RENAME COLUMN a TO b",
    { kind: "alterTable", table: "t", change: { kind: "renameColumn", column: "a", to: "b" } },
  ],
  [
    "[SQ11]",
    "ALTER TABLE s.t RENAME TO u",
    { kind: "alterTable", table: "s.t", change: { kind: "renameTable", to: "u" } },
  ],
  [
    "[SQ12]",
    "INSERT INTO t VALUES (1, 'a'), (2, NULL)",
    { kind: "insert", table: "t", query: "VALUES (1, 'a'), (2, NULL)" },
  ],
  [
    "[SQ12]",
    'INSERT INTO s.t (a, "b c") SELECT 1, 2',
    { kind: "insert", table: "s.t", columns: ["a", "b c"], query: "SELECT 1, 2" },
  ],
  ["[SQ12]", "INSERT INTO t (SELECT 1)", { kind: "insert", table: "t", query: "(SELECT 1)" }],
  [
    "[SQ12]",
    "INSERT INTO t ((VALUES (1)))",
    { kind: "insert", table: "t", query: "((VALUES (1)))" },
  ],
  [
    "[SQ12]",
    "INSERT INTO t (values) VALUES (1)",
    { kind: "insert", table: "t", columns: ["values"], query: "VALUES (1)" },
  ],
  [
    "[SQ12]",
    "INSERT INTO t WITH c AS (SELECT 1) FROM c",
    { kind: "insert", table: "t", query: "WITH c AS (SELECT 1) FROM c" },
  ],
  [
    "[SQ12]",
    "UPDATE t SET a = 1",
    { kind: "update", table: "t", set: [{ column: "a", value: "1" }] },
  ],
  [
    "[SQ12]",
    "UPDATE s.t AS x SET a = greatest(a, 1), b = (SELECT max(q) FROM u WHERE true), c = a IS DISTINCT FROM b, FROM u, v JOIN w ON v.i = w.i WHERE x.a = u.a AND true",
    {
      kind: "update",
      table: "s.t",
      alias: "x",
      set: [
        { column: "a", value: "greatest(a, 1)" },
        { column: "b", value: "(SELECT max(q) FROM u WHERE true)" },
        { column: "c", value: "a IS DISTINCT FROM b" },
      ],
      from: "u, v JOIN w ON v.i = w.i",
      where: "x.a = u.a AND true",
    },
  ],
  [
    "[SQ12]",
    "UPDATE t x SET a=-1 WHERE b",
    { kind: "update", table: "t", alias: "x", set: [{ column: "a", value: "-1" }], where: "b" },
  ],
  ["[SQ12]", "DELETE FROM t", { kind: "delete", table: "t" }],
  [
    "[SQ12]",
    "DELETE FROM t AS x USING u, v WHERE x.a = u.a",
    { kind: "delete", table: "t", alias: "x", using: "u, v", where: "x.a = u.a" },
  ],
  ["[SQ12]", "TRUNCATE TABLE t", { kind: "delete", table: "t" }],
  [
    "[SQ13]",
    "COPY t FROM 'orders.csv'",
    { kind: "copy", table: "t", file: "orders.csv", options: {} },
  ],
  [
    "[SQ13]",
    "COPY s.t (a, b) FROM $$it's.csv$$ WITH (FORMAT csv, header, Delimiter E'\\t', NULL '', FORCE_NOT_NULL (a, b), SAMPLE_SIZE -1, TYPES {'a': 'INT'})",
    {
      kind: "copy",
      table: "s.t",
      columns: ["a", "b"],
      file: "it's.csv",
      options: {
        FORMAT: "csv",
        HEADER: "true",
        DELIMITER: "\t",
        NULL: "",
        FORCE_NOT_NULL: "(a, b)",
        SAMPLE_SIZE: "-1",
        TYPES: "{'a': 'INT'}",
      },
    },
  ],
  ["[SQ16]", "SHOW TABLES", { kind: "showTables" }],
  ["[SQ16]", "SHOW ALL TABLES", { kind: "showTables" }],
  ["[SQ16]", "DESCRIBE", { kind: "showTables" }],
  ["[SQ16]", "SHOW SNAPSHOTS;", { kind: "showSnapshots" }],
  ["[SQ16]", "SHOW t", { kind: "describeTable", table: "t" }],
  ["[SQ16]", "DESCRIBE t", { kind: "describeTable", table: "t" }],
  ["[SQ16]", 'DESC s."T t"', { kind: "describeTable", table: "s.T t" }],
  ["[SQ16]", "DESCRIBE TABLE t", { kind: "describeTable", table: "t" }],
];

const refused: readonly (readonly [text: string, message: string, hint?: RegExp])[] = [
  ["||", "there is no statement"],
  ["-- nothing||", "there is no statement"],
  ["SELECT 1; |SELECT| 2", "one statement at a time: a second one begins here"],
  ["|SELCT| 1", "no statement begins with SELCT", /SELECT/],
  ["|1|", "no statement begins with 1"],
  ["|BEGIN|", "BEGIN is not supported", /transaction/],
  ["|COMMIT|", "COMMIT is not supported", /transaction/],
  ["|ATTACH| 'x'", "ATTACH is not supported", /outside/],
  ["|INSTALL| x", "INSTALL is not supported"],
  ["|LOAD| x", "LOAD is not supported"],
  ["|SET| threads = 1", "SET is not supported", /server/],
  ["|PRAGMA| x", "PRAGMA is not supported"],
  ["|CALL| x()", "CALL is not supported", /FROM/],
  ["|MERGE| INTO t", "MERGE is not supported"],
  ["CREATE |INDEX| i ON t (a)", "CREATE INDEX is not supported"],
  ["CREATE |VIEW| v AS SELECT 1", "CREATE VIEW is not supported", /DYNAMIC TABLE/],
  ["CREATE |TEMP| TABLE t (a INT)", "CREATE TEMP is not supported"],
  ["CREATE |SCHEMA| s", "CREATE SCHEMA is not supported"],
  ["DROP |VIEW| v", "DROP VIEW is not supported"],
  ["CREATE |t| (a INT)", "TABLE after CREATE expected, but here is t"],
  [
    "CREATE OR REPLACE TABLE |IF| NOT EXISTS t (a INT)",
    "OR REPLACE and IF NOT EXISTS do not go together",
  ],
  [
    "CREATE TABLE |select| (a INT)",
    "the name of a table expected, but SELECT is a keyword",
    /double quotes/,
  ],
  [
    "CREATE TABLE |'t'| (a INT)",
    "the name of a table expected, but here is a text",
    /double quotes/,
  ],
  [
    "CREATE TABLE |a|.b.c (a INT)",
    "a table's name has at most two parts, its schema and its own name",
  ],
  ["CREATE TABLE t (|)|", "a table has at least one column"],
  ["CREATE TABLE t (a INT |PRIMARY| KEY)", "PRIMARY KEY is not supported", /NOT NULL/],
  ["CREATE TABLE t (a INT |UNIQUE|)", "UNIQUE is not supported"],
  ["CREATE TABLE t (a INT |CHECK| (a > 0))", "CHECK is not supported"],
  ["CREATE TABLE t (a INT DEFAULT 1 |REFERENCES| u (a))", "REFERENCES is not supported"],
  ["CREATE TABLE t (a INT, |PRIMARY| KEY (a))", "PRIMARY KEY is not supported"],
  ["CREATE TABLE t (a INT, |FOREIGN| KEY (a) REFERENCES u (a))", "FOREIGN KEY is not supported"],
  ["CREATE TABLE t (a VARCHAR |COLLATE| NOCASE)", "COLLATE is not supported for columns"],
  ["CREATE TABLE t (a INT |AS| (1))", "generated columns are not supported"],
  ["CREATE TABLE t (a INT |GENERATED| ALWAYS AS (1))", "generated columns are not supported"],
  ["CREATE TABLE t (a|,| b INT)", "the type of a expected, but here is ,"],
  ["CREATE TABLE t (a INT, |A| INT)", "the column A is named twice"],
  ["CREATE TABLE t (a INT NOT NULL |NULL|)", "a is said to be NULL or NOT NULL twice"],
  ["CREATE TABLE t (a INT DEFAULT 1 |DEFAULT| 2)", "a has two DEFAULTs"],
  ["CREATE TABLE t (a BOOL DEFAULT 1 |IS| NOT NULL)", "this expression needs brackets"],
  ["CREATE TABLE t (a BOOL DEFAULT true |AND| false)", "this expression needs brackets"],
  ["CREATE TABLE t (a INT DEFAULT|)|", "an expression after DEFAULT expected, but here is )"],
  ["CREATE TABLE t (a INT) |AS| SELECT 1", "definitions of columns and AS do not go together"],
  ["CREATE TABLE t AS SELECT 1 |WITH| NO DATA", "WITH NO DATA is not supported", /LIMIT 0/],
  ["CREATE TABLE t AS |DROP| TABLE u", "a SELECT after AS expected, but here is DROP"],
  ["CREATE TABLE t||", '"(" or AS expected, but the statement ends'],
  ["ALTER TABLE t |ALTER| a TYPE INT", "ALTER COLUMN is not supported"],
  ["ALTER TABLE t ADD |CONSTRAINT| x CHECK (a)", "constraints are not supported"],
  ["ALTER TABLE t DROP a |CASCADE|", "CASCADE is not supported"],
  ["ALTER TABLE t DROP a|,| DROP b", "one change at a time"],
  ["ALTER TABLE t DROP s|.|a", "fields of a STRUCT cannot be changed"],
  ["DROP TABLE a|,| b", "one table at a time"],
  ["DROP TABLE a |CASCADE|", "CASCADE is not supported", /first/],
  ["INSERT INTO t VALUES (1) |RETURNING| *", "RETURNING is not supported"],
  [
    "INSERT INTO t SELECT 1 |ON| CONFLICT DO NOTHING",
    "ON CONFLICT is not supported: tables have no keys",
    /NOT EXISTS/,
  ],
  ["INSERT |OR| REPLACE INTO t VALUES (1)", "INSERT OR REPLACE is not supported"],
  ["INSERT INTO t (a) |BY| NAME SELECT 1 AS a", "BY NAME and names of columns do not go together"],
  ["INSERT INTO t |DEFAULT| VALUES", "DEFAULT VALUES is not supported"],
  [
    "INSERT INTO t VALUES (1, |DEFAULT|)",
    "DEFAULT among VALUES is not supported",
    /Leave the column out/,
  ],
  ["INSERT INTO t (a, |a|) VALUES (1, 2)", "the column a is named twice"],
  ["INSERT INTO t||", "a SELECT after the table's name expected, but the statement ends"],
  ["INSERT |t| VALUES (1)", "INTO expected, but here is t"],
  [
    "WITH c AS (SELECT 1) |INSERT| INTO t FROM c",
    "WITH before INSERT is not supported",
    /INSERT INTO t WITH/,
  ],
  [
    "WITH c(a) AS MATERIALIZED (SELECT 1), d AS (FROM c) |DELETE| FROM t",
    "WITH before DELETE is not supported",
  ],
  ["UPDATE t SET a = 1 |RETURNING| a", "RETURNING is not supported"],
  ["UPDATE t SET |(|a, b) = (1, 2)", "SET (a, b) = … is not supported"],
  ["UPDATE t SET t|.|a = 1", "a column's name stands alone after SET"],
  ["UPDATE t SET a = |DEFAULT|", "SET … = DEFAULT is not supported"],
  ["UPDATE t SET a = 1, |A| = 2", "the column A is named twice"],
  ["UPDATE t SET a = |WHERE| b", "a value for a expected, but here is WHERE"],
  ["UPDATE t |WHERE| a", "SET expected, but here is WHERE"],
  ["DELETE |t|", "FROM expected, but here is t"],
  ["DELETE FROM t WHERE||", "a condition after WHERE expected, but the statement ends"],
  ["DELETE FROM t WHERE a |RETURNING| a", "RETURNING is not supported"],
  ["COPY t |TO| 'x'", "COPY … TO is not supported"],
  ["COPY |(|SELECT 1) TO 'x'", "COPY (…) TO is not supported"],
  ["COPY t FROM |x|", "the name of a file expected, but here is x", /single quotes/],
  ["COPY t FROM 'x' |CSV| HEADER", "options stand in brackets"],
  ["COPY t FROM 'x' (FORMAT |=| csv)", "no = between an option and its value"],
  ["COPY t FROM 'x' (HEADER, |header|)", "the option HEADER is given twice"],
  ["EXPLAIN |INSERT| INTO t VALUES (1)", "EXPLAIN INSERT is not supported"],
  ["EXPLAIN |(|FORMAT json) SELECT 1", "EXPLAIN (…) is not supported"],
  ["SHOW |DATABASES|", "SHOW DATABASES is not supported"],
  ["SELECT '|'a|", "the text is not closed"],
];
testStatements({ parse: parseStatement, cases, rule: "[SQ17]", refused });

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
