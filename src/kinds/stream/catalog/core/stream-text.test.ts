import assert from "node:assert/strict";
import { test } from "node:test";
import { splitStatements } from "../../../../data/sql/core/index.ts";
import { onlyAsks, streamLanguage } from "./stream-text.ts";

const taken = [
  "CREATE LOGICAL SOURCE a(ts UINT64)",
  "create physical source for a type File",
  "CREATE SINK s TYPE Print",
  "CREATE QUERY q AS SELECT ts FROM a INTO s",
  "CREATE OR REPLACE QUERY q AS SELECT ts FROM a INTO s",
  "CREATE WORKER 'host:1'",
  "CREATE VIEW v AS SELECT ts FROM a",
  "DROP SOURCE a",
  "DROP QUERY WHERE ID = '3'",
  "SHOW QUERIES",
  "SHOW PHYSICAL SOURCES FOR a",
  "SHOW CREATE SINK s",
  "PAUSE QUERY q",
  "CHECKPOINT QUERY q",
  "SHOW CHECKPOINTS",
  "DROP CHECKPOINT 7 FOR q",
  "/* a; */ -- b;\n RESUME QUERY q",
  "SELECT ts FROM a WHERE b == 'it\\'s' INTO s",
  "(SELECT ts FROM a) UNION ALL (SELECT ts FROM b) INTO s",
  "WITH x AS (SELECT ts FROM a) SELECT * FROM x INTO s",
  "EXPLAIN SELECT ts FROM `a` INTO s",
  "EXPLAIN STAGES SELECT ts FROM a",
];
const left = [
  "SELECT 1",
  "SELECT 'INTO'",
  'SELECT * FROM (SELECT 1 AS "INTO")',
  "SELECT 1; SELECT 2 INTO s",
  "INSERT INTO t VALUES (1)",
  "CREATE TABLE queries(a INT)",
  "CREATE DYNAMIC TABLE t TARGET_LAG = '1 minute' AS SELECT 1",
  "SHOW TABLES",
  "SHOW DYNAMIC TABLES",
  "DROP TABLE sink",
  "EXPLAIN SELECT 1",
  "EXPLAIN ANALYZE SELECT 1",
  "WATCH SELECT id FROM workers",
  "",
];

test("[SC30] statements about streams are told by their first words, or by INTO", () => {
  for (const text of taken) assert.ok(streamLanguage.takes(text), text);
  for (const text of left) assert.ok(!streamLanguage.takes(text), text);
});

test("[SC30] SHOW and EXPLAIN only ask", () => {
  const asking = taken.filter(onlyAsks).map((text) => text.split(" ", 1)[0]);
  assert.deepEqual(asking, ["SHOW", "SHOW", "SHOW", "SHOW", "EXPLAIN", "EXPLAIN"]);
});

test("[SC30, SR6] a script is cut at semicolons of the statement's own language", () => {
  const statements = [
    "CREATE PHYSICAL SOURCE FOR a TYPE File SET('it\\'s; here' AS \"SOURCE\".FILE_PATH)",
    "SELECT 'C:\\'",
    "CREATE SINK `odd;name` TYPE Print",
    "SELECT \"a;b\" FROM `x;y` WHERE c = 'd\\';' INTO s",
    "SELECT 'e;' /* ; /* nested; */ */",
    "SHOW QUERIES",
  ];
  const script = `${statements.join(";\n\n")};\n;SELECT 'unfinished`;
  const split = splitStatements(script, [streamLanguage]);
  const starts = statements.map((statement) => script.indexOf(statement));
  assert.deepEqual(split, { statements, starts, rest: "SELECT 'unfinished" });
});
