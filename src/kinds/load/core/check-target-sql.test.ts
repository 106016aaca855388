import assert from "node:assert/strict";
import { test } from "node:test";
import { scenarioOf } from "../testing/scenario.ts";
import { checkScenarioSql, targetSqlProblem } from "./check-target-sql.ts";

const refused: readonly (readonly ["duckdb" | "sqlite", string])[] = [
  ["duckdb", "COPY t TO '/tmp/x'"],
  ["duckdb", "  /* SELECT */ -- SELECT\n copy t to '/tmp/x'"],
  ["duckdb", ";; (COPY t TO '/tmp/x')"],
  ["duckdb", "ATTACH '/tmp/x' AS x"],
  ["duckdb", "FROM 'x.csv'"],
  ["duckdb", "SELECT 1 FROM (SELECT 2) a JOIN '/etc/passwd' ON true"],
  ["duckdb", "SELECT extract(year FROM d) FROM 'x.csv'"],
  ["duckdb", "WITH a AS (SELECT * FROM READ_TEXT ('x')) SELECT 1"],
  ["duckdb", 'SELECT * FROM system.main."read_text"(:x)'],
  ["duckdb", "EXPLAIN COPY t TO 'x'"],
  ["duckdb", "EXPLAIN (ANALYZE, ANALYZE, ANALYZE, ANALYZE) COPY t TO 'x'"],
  ["duckdb", "EXPLAIN ANALYZE (FORMAT json) COPY t TO 'x'"],
  ["duckdb", "SELECT * FROM k, '/etc/passwd'"],
  ["duckdb", "SELECT * FROM (SELECT 1, 2) AS a(b, c), t d, 'x.csv' WHERE 1 = 1"],
  ["duckdb", "DESCRIBE '/x'"],
  ["duckdb", "SUMMARIZE '/x'"],
  ["duckdb", 'FROM "/x.csv"'],
  ["duckdb", 'SELECT 1 FROM t, "dir/x.parquet"'],
  ["duckdb", "SELECT * FROM pg_settings"],
  ["duckdb", "SELECT * FROM pg_catalog.pg_settings LIMIT 3"],
  ["duckdb", "SELECT path FROM duckdb_databases"],
  ["duckdb", "CREATE TEMPORARY SECRET s (TYPE s3)"],
  ["duckdb", ""],
  ["duckdb", "'"],
  ["sqlite", "ATTACH 'x' AS y"],
  ["sqlite", "VACUUM main INTO 'x'"],
  ["sqlite", "PRAGMA user_version"],
  ["sqlite", "SELECT Load_Extension('x')"],
  ["sqlite", "EXPLAIN QUERY PLAN ATTACH 'x' AS y"],
  ["sqlite", "DETACH x"],
  ["sqlite", "SELECT * FROM pragma_database_list"],
  ["sqlite", "SELECT * FROM t, Pragma_Compile_Options AS c"],
  ["sqlite", "SELECT name FROM pragma_table_info('t')"],
  ["sqlite", 'SELECT * FROM main."pragma_database_list"'],
  ["sqlite", "INSERT INTO t SELECT file FROM [pragma_database_list]"],
];
for (const [kind, sql] of refused) {
  test(`[TX1] [TX2] ${kind} does not run ${JSON.stringify(sql)}`, () => {
    assert.notEqual(targetSqlProblem(kind, sql), undefined);
  });
}

const allowed: readonly (readonly ["duckdb" | "sqlite", string])[] = [
  ["duckdb", "SELECT 'COPY t TO x', $$read_text('x')$$ -- ATTACH"],
  ["duckdb", "INSERT INTO query (a) SELECT i FROM range(10) r(i)"],
  ["duckdb", "CREATE TABLE IF NOT EXISTS main.glob (a INTEGER)"],
  ["duckdb", "SELECT trim(BOTH 'x' FROM 'xax'), a IS DISTINCT FROM 'b' FROM t"],
  ["duckdb", "DELETE FROM t WHERE id = :id"],
  ["duckdb", "(SELECT 1) UNION (SELECT 2)"],
  ["duckdb", "EXPLAIN (FORMAT json) SELECT 1"],
  ["duckdb", "EXPLAIN ANALYZE SELECT 1"],
  ["duckdb", "EXPLAIN (SELECT 1)"],
  ["duckdb", "SELECT a, 'b', 'c/d' FROM t WHERE x IN ('a', 'b') ORDER BY 1, 'x'"],
  ["duckdb", "SELECT * FROM f(a, 'b') t, generate_series(1, 2) WHERE c = concat(a, 'b')"],
  ["duckdb", "INSERT INTO t SELECT i, 'x' FROM range(3) r(i)"],
  ["duckdb", "INSERT INTO t VALUES (1, 'x'), (2, 'y')"],
  ["duckdb", "UPDATE t SET a = 'x', b = 'y' FROM u WHERE t.id = u.id"],
  ["duckdb", 'SELECT "a/b", t."c/d" FROM t'],
  ["sqlite", "VACUUM"],
  ["sqlite", "REPLACE INTO t VALUES (:a, :b)"],
  ["sqlite", "EXPLAIN QUERY PLAN SELECT * FROM t"],
  ["sqlite", "SELECT `a`, [b] FROM t"],
];
for (const [kind, sql] of allowed) {
  test(`[TX1] ${kind} runs ${sql}`, () => {
    assert.equal(targetSqlProblem(kind, sql), undefined);
  });
}

const transfers = [
  "PUT file:///etc/passwd @~",
  "  get @~/x file:///tmp/x",
  "\u00a0PUT file:///etc/passwd @~",
  "-- SELECT\n/* SELECT */ // SELECT\n put file:///etc/passwd @~",
  "SELECT 1; GET @~ file:///tmp/x",
  "SELECT 'a;b' ;; /* c */ Put file:///etc/passwd @~",
  "PUTfile:///etc/passwd @~",
];
test("[TX3] Snowflake is asked for no transfer of files, in operations, load_sql and reset_sql", () => {
  const target = { kind: "snowflake", url: "snowflake://me@account/DB" } as const;
  for (const sql of transfers) {
    assert.match(targetSqlProblem("snowflake", sql) ?? "", /PUT or GET/, sql);
    for (const given of [{ loadSql: [sql] }, { resetSql: [sql] }]) {
      const scenario = scenarioOf({ target: { ...target, ...given } });
      assert.throws(() => checkScenarioSql(scenario), { code: "bad_sql", message: /sql\[0\]/ });
    }
  }
  for (const sql of [
    ...[
      "SELECT GET(a, 0), 'PUT x' FROM t",
      "SELECT 1 -- ; PUT file:///x @~",
      "COPY INTO t FROM @s",
    ],
    ...["SELECT put FROM t", "INSERT INTO t VALUES ('; PUT file:///x @~')"],
  ]) {
    assert.equal(targetSqlProblem("snowflake", sql), undefined, sql);
  }
});

test("[TX1] every statement of a scenario is judged: operations, load_sql, reset_sql; servers judge their own", () => {
  const way = "COPY t TO '/tmp/x'";
  const operation = { ...scenarioOf().workload.operations[0], statements: ["SELECT 1", way] };
  const duckdb = { kind: "duckdb", url: "duckdb:x.db" } as const;
  const cases = [
    [scenarioOf({ target: { ...duckdb, loadSql: ["SELECT 1", way] } }), /load_sql\[1\].*COPY/],
    [scenarioOf({ target: { ...duckdb, resetSql: [way] } }), /reset_sql\[0\].*COPY/],
    [
      scenarioOf({ target: duckdb, workload: { operations: [operation as never] } }),
      /operation look, statement 2.*COPY/,
    ],
  ] as const;
  for (const [scenario, message] of cases) {
    assert.throws(() => checkScenarioSql(scenario), { code: "bad_sql", message });
  }
  checkScenarioSql(scenarioOf({ target: { loadSql: [way] } }));
});
