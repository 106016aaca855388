import { TokenCursor } from "../../../data/sql/core/index.ts";
import { testStatements } from "../../../data/sql/core/testing/statement-cases.ts";
import { parseDynamicStatement } from "./parse-statement.ts";

testStatements({
  parse: (text) => parseDynamicStatement(new TokenCursor(text)),
  rule: "[TD1]",
  cases: [
    ["[TD1]", "DROP DYNAMIC TABLE IF EXISTS t", { kind: "drop", table: "t", ifExists: true }],
    [
      "[TD1]",
      "CREATE DYNAMIC TABLE r TARGET_LAG = '30 seconds' AS SELECT 1",
      {
        kind: "create",
        table: "r",
        targetLag: { kind: "time", ms: 30_000 },
        refreshMode: "AUTO",
        initialize: "ON_CREATE",
        query: "SELECT 1",
      },
    ],
    [
      "[TD1]",
      "create or replace dynamic table s.r initialize = on_schedule refresh_mode = full target_lag = downstream as from t;",
      {
        kind: "create",
        table: "s.r",
        orReplace: true,
        targetLag: { kind: "downstream" },
        refreshMode: "FULL",
        initialize: "ON_SCHEDULE",
        query: "from t",
      },
    ],
    [
      "[TD1]",
      "CREATE DYNAMIC TABLE IF NOT EXISTS r REFRESH_MODE = 'INCREMENTAL' TARGET_LAG = '1 day 2 hours' AS (SELECT 1)",
      {
        kind: "create",
        table: "r",
        ifNotExists: true,
        targetLag: { kind: "time", ms: 93_600_000 },
        refreshMode: "INCREMENTAL",
        initialize: "ON_CREATE",
        query: "(SELECT 1)",
      },
    ],
    [
      "[TD1]",
      "ALTER DYNAMIC TABLE r SUSPEND",
      { kind: "alter", table: "r", change: { kind: "suspend" } },
    ],
    [
      "[TD1]",
      "ALTER DYNAMIC TABLE r RESUME",
      { kind: "alter", table: "r", change: { kind: "resume" } },
    ],
    ["[TD1]", "ALTER DYNAMIC TABLE r REFRESH", { kind: "refresh", table: "r" }],
    [
      "[TD1]",
      "ALTER DYNAMIC TABLE r SET TARGET_LAG = '5m'",
      {
        kind: "alter",
        table: "r",
        change: { kind: "setTargetLag", targetLag: { kind: "time", ms: 300_000 } },
      },
    ],
    [
      "[TD1]",
      "ALTER DYNAMIC TABLE r SET REFRESH_MODE = AUTO",
      {
        kind: "alter",
        table: "r",
        change: { kind: "setRefreshMode", refreshMode: "AUTO" },
      },
    ],
    ["[TD1]", "REFRESH DYNAMIC TABLE s.r", { kind: "refresh", table: "s.r" }],
    ["[TD1]", "refresh dynamic table r wait", { kind: "refresh", table: "r", wait: true }],
    ["[TD1]", "EXPLAIN DYNAMIC TABLE r", { kind: "explain", table: "r" }],
    ["[TD1]", "SHOW DYNAMIC TABLES", { kind: "show" }],
    ["[TD1]", "SHOW REFRESH HISTORY", { kind: "showHistory" }],
    [
      "[TD1]",
      "SHOW REFRESH HISTORY FOR r LIMIT 10",
      { kind: "showHistory", table: "r", limit: 10 },
    ],
    ["[TD1]", "SHOW REFRESH HISTORY s.r", { kind: "showHistory", table: "s.r" }],
    ["[TD1]", "DESCRIBE DYNAMIC TABLE t", { kind: "describe", table: "t" }],
  ],
  refused: [
    ["CREATE DYNAMIC TABLE t |AS| SELECT 1", "TARGET_LAG is missing before AS", /30 seconds/],
    [
      "CREATE DYNAMIC TABLE t |(|a) TARGET_LAG = '1 s' AS SELECT 1",
      "a dynamic table has the columns of its SELECT",
    ],
    [
      "CREATE DYNAMIC TABLE t TARGET_LAG = |'1 ms'| AS SELECT 1",
      "'1 ms' is too short: the shortest is 100 milliseconds",
    ],
    ["CREATE DYNAMIC TABLE t TARGET_LAG = |30| AS SELECT 1", "a duration stands in single quotes"],
    ["CREATE DYNAMIC TABLE t TARGET_LAG |'1 s'| AS SELECT 1", "\"=\" expected, but here is '1 s'"],
    [
      "CREATE DYNAMIC TABLE t TARGET_LAG = '1 s' |TARGET_LAG| = '2 s' AS SELECT 1",
      "TARGET_LAG is given twice",
    ],
    [
      "CREATE DYNAMIC TABLE t TARGET_LAG = '1 s' REFRESH_MODE = |SOMETIMES| AS SELECT 1",
      "AUTO or FULL or INCREMENTAL expected, but here is SOMETIMES",
    ],
    [
      "CREATE DYNAMIC TABLE t |WAREHOUSE| = x AS SELECT 1",
      "TARGET_LAG, REFRESH_MODE, INITIALIZE or AS expected, but here is WAREHOUSE",
    ],
    [
      "ALTER DYNAMIC TABLE t |RENAME| TO u",
      "RENAME is not supported for dynamic tables",
      /OR REPLACE/,
    ],
    ["ALTER DYNAMIC TABLE t SET |x| = 1", "TARGET_LAG or REFRESH_MODE expected, but here is x"],
    ["ALTER DYNAMIC TABLE t SUSPEND |RESUME|", "one change at a time"],
    ["REFRESH |TABLE| t", "only dynamic tables are refreshed"],
    ["REFRESH DYNAMIC |t|", "TABLE expected, but here is t"],
    ["SHOW REFRESH HISTORY LIMIT |x|", "a whole number after LIMIT expected, but here is x"],
  ],
});
