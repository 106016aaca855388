import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultDialect } from "../dialect-settings.ts";
import { LocalCatalog } from "../local-catalog.ts";
import { insertExchanges } from "../parallel/insert-exchanges.ts";
import { errorOf, examplePlan, resultOf } from "../testing.ts";
import type { AstExpr, AstSelect, Statement } from "./ast.ts";
import { statementCharactersMax, textCharactersMax } from "./lexer.ts";
import { parseStatements } from "./parse-statements.ts";

function only(text: string): Statement {
  const statements = parseStatements(text);
  assert.equal(statements.length, 1);
  return statements[0] as Statement;
}

/** Expressions with all parentheses written. */
function print(ast: AstExpr): string {
  switch (ast.kind) {
    case "name":
      return ast.qualifier === undefined ? ast.name : `${ast.qualifier}.${ast.name}`;
    case "number":
      return ast.text;
    case "text":
      return `'${ast.value}'`;
    case "negate":
      return `(- ${print(ast.arg)})`;
    case "not":
      return `(not ${print(ast.arg)})`;
    case "binary":
      return `(${print(ast.left)} ${ast.op} ${print(ast.right)})`;
    case "is":
      return `(${print(ast.arg)} is ${ast.negated ? "not " : ""}${ast.what})`;
    case "cast":
      return `(${print(ast.arg)} as ${ast.type})`;
    case "between":
      return `(${print(ast.arg)} between ${print(ast.low)} ${print(ast.high)})`;
    default:
      return ast.kind;
  }
}

function expression(text: string): string {
  const statement = only(`SELECT ${text} AS x FROM s INTO k`);
  assert.ok(statement.kind === "query");
  const [item] = (statement.query.query.body as AstSelect).items;
  assert.ok(item?.kind === "expr");
  return print(item.expr);
}

const kinds = [
  ["CREATE LOGICAL SOURCE IF NOT EXISTS s(a UINT8, b CHAR NOT NULL)", "createLogicalSource"],
  ["create logical source s as select * from t", "createLogicalSource"],
  [
    "CREATE PHYSICAL SOURCE FOR s TYPE TCP SET('h' AS `SOURCE`.SOCKET_HOST)",
    "createPhysicalSource",
  ],
  ["CREATE SINK k(a UINT8) TYPE File", "createSink"],
  ["CREATE SINK k TYPE Print", "createSink"],
  ["CREATE VIEW v AS SELECT a FROM s", "createView"],
  ['CREATE QUERY q AS SELECT a FROM s INTO k, l SET(2 AS "QUERY".PARALLELISM)', "createQuery"],
  ["SELECT a FROM s INTO k", "query"],
  ["WITH w AS (SELECT a FROM s) SELECT a FROM w INTO k", "query"],
  ["EXPLAIN (LOGICAL, OPTIMIZED) FORMAT JSON SELECT a FROM s INTO k", "explain"],
  ["EXPLAIN (stages) SELECT a FROM s INTO k FORMAT TEXT", "explain"],
  ["EXPLAIN (SELECT a FROM s) UNION SELECT b FROM s", "explain"],
  ["CREATE WORKER w1", "createWorker"],
  [
    "CREATE WORKER IF NOT EXISTS 'w1.example:9090' SET(8 AS `WORKER`.NUM_SLOTS, 'w2, w3' AS `WORKER`.PEERS)",
    "createWorker",
  ],
  ["DROP WORKER IF EXISTS 'w1.example:9090'", "drop"],
  ["DROP PHYSICAL SOURCE 3", "drop"],
  ["DROP QUERY q SET('forceful' AS `QUERY`.MODE)", "drop"],
  ["SHOW WORKERS WHERE state = 'ACTIVE'", "show"],
  ["SHOW WORKER w1", "show"],
  ["SHOW SINKS WHERE type = 'File' FORMAT JSON", "show"],
  ["EXPLAIN SELECT a FROM s", "explain"],
  ["DROP SINK IF EXISTS k", "drop"],
  ["DROP QUERY 'q'", "drop"],
  ["DROP QUERY WHERE ID = '12'", "drop"],
  ["DROP QUERY IF EXISTS q SOFT", "drop"],
  ["DROP QUERY hard HARD", "drop"],
  ["PAUSE QUERY q", "pause"],
  ["CHECKPOINT QUERY q", "checkpoint"],
  ["SHOW CHECKPOINTS FOR q FORMAT JSON", "showCheckpoints"],
  ["DROP CHECKPOINT IF EXISTS 7 FOR q", "dropCheckpoint"],
  ["RESUME QUERY 12", "resume"],
  ["CREATE OR REPLACE QUERY q AS SELECT a FROM s INTO k", "createQuery"],
  ["CREATE WORKER 'e:4611' SET('e:4612' AS DATA, 100 AS CAPACITY, 'w-2' AS PEERS)", "createWorker"],
  ["SHOW CREATE SINK k", "show"],
  ["SHOW CREATE PHYSICAL SOURCE 3", "show"],
  ["SHOW VIEWS", "show"],
  ["SHOW QUERY q", "show"],
  ["SHOW QUERIES", "show"],
  ["SHOW LOGICAL SOURCES FORMAT JSON", "show"],
  ["SHOW PHYSICAL SOURCES FOR s", "show"],
] as const;
for (const [text, kind] of kinds) {
  test(`[SY1] ${text}`, () => assert.equal(only(`${text};`).kind, kind));
}

test("[SY1] what a statement about queries and objects says", () => {
  const drop = (text: string) => {
    const one = only(text);
    return one.kind === "drop" ? [one.name.text, one.mode, one.ifExists] : [];
  };
  assert.deepEqual(drop("DROP QUERY WHERE ID = '12' HARD"), ["12", "HARD", false]);
  assert.deepEqual(drop("DROP QUERY soft"), ["soft", undefined, false]);
  assert.deepEqual(drop("DROP QUERY IF EXISTS q SOFT"), ["q", "SOFT", true]);
  const show = (text: string) => {
    const one = only(text);
    if (one.kind !== "show") return [];
    return [one.object, one.name?.text, one.owner?.text, one.asStatement, one.format];
  };
  assert.deepEqual(show("SHOW PHYSICAL SOURCES FOR s FORMAT JSON"), [
    ...["physical source", undefined, "s", false, "json"],
  ]);
  assert.deepEqual(show("SHOW CREATE QUERY q"), ["query", "q", undefined, true, "text"]);
  assert.deepEqual(show("SHOW PHYSICAL SOURCE 3"), [
    ...["physical source", "3", undefined, false, "text"],
  ]);
  const view = only("CREATE VIEW v AS (SELECT a  FROM s) ;");
  assert.equal(view.kind === "createView" && view.definition, "(SELECT a  FROM s)");
  assert.equal(errorOf(() => only("CREATE OR REPLACE SINK k TYPE Void")).number, 2000);
});

test("[SY27] a secret setting may be a reference, and no other one may", () => {
  const source = (settings: string) =>
    `CREATE LOGICAL SOURCE h(a INT8); CREATE PHYSICAL SOURCE FOR h TYPE HTTP SET(${settings});`;
  const catalog = new LocalCatalog(defaultDialect);
  for (const one of parseStatements(source(`SECRET('door') AS "SOURCE".TOKEN`))) catalog.apply(one);
  assert.equal(catalog.physicalSources("h")[0]?.config.TOKEN, "SECRET('door')");
  const refused = (settings: string): number => {
    const other = new LocalCatalog(defaultDialect);
    return errorOf(() => {
      for (const one of parseStatements(source(settings))) other.apply(one);
    }).number;
  };
  assert.equal(refused(`SECRET('door') AS "SOURCE".HTTP_PATH`), 1000);
  assert.equal(refused(`'SECRET(\\'5/TOKEN\\')' AS "SOURCE".TOKEN`), 1000, "SC55");
  assert.equal(refused(`'SECRET(\\'door\\')' AS "SOURCE".TOKEN`), 1000, "SC55");
  assert.equal(refused(`SECRET('5/TOKEN') AS "SOURCE".TOKEN`), 2000, "SC55");
  assert.equal(refused(`SECRET('..') AS "SOURCE".TOKEN`), 2000);
  assert.equal(refused(`SECRET('a b') AS "SOURCE".TOKEN`), 2000);
  assert.equal(refused(`SECRET(door) AS "SOURCE".TOKEN`), 2000);
});

test("[SY1] several statements, comments, and names that keep their spelling", () => {
  const statements = parseStatements(
    '-- first\nCREATE SINK "My Sink"(`a b` UINT8) TYPE Void; /* second */ DROP SINK mySINK;;',
  );
  assert.deepEqual(
    statements.map((one) => ("name" in one ? one.name?.text : "")),
    ["My Sink", "mySINK"],
  );
});

const expressions = [
  ["a OR b AND NOT c = d", "(a or (b and (not (c = d))))"],
  ["a + b * c - d", "((a + (b * c)) - d)"],
  ["-a::INT8 * 2", "((- (a as INT8)) * 2)"],
  ["!a AND b IS NOT NULL", "((not a) and (b is not null))"],
  ["a BETWEEN b + 1 AND c AND d", "((a between (b + 1) c) and d)"],
  ["x.a <> y.b", "(x.a != y.b)"],
  ["a | b & c << 1", "(a | (b & (c << 1)))"],
  ["'it''s' || 'a\\'b\\\\'", "('it's' || 'a'b\\')"],
  ["end - start", "(end - start)"],
] as const;
for (const [text, want] of expressions) {
  test(`[SY2] ${text}`, () => assert.equal(expression(text), want));
}

/** The statements of the specification of the coordinator. */
const specified = `
CREATE LOGICAL SOURCE lrb(creationTS UINT64, highway INT16, speed FLOAT32);
CREATE PHYSICAL SOURCE FOR lrb TYPE TCP SET(
  'localhost' as \`SOURCE\`.SOCKET_HOST,
  50501 as \`SOURCE\`.SOCKET_PORT,
  'CSV' as PARSER.\`TYPE\`,
  '\\n' as PARSER.TUPLE_DELIMITER,
  ',' as PARSER.FIELD_DELIMITER
);
CREATE PHYSICAL SOURCE FOR lrb TYPE File SET(
  'input.json' as \`SOURCE\`.FILE_PATH,
  'JSON' as PARSER.\`TYPE\`
);
CREATE SINK csv_sink(start UINT64, end UINT64, highway INT16, avgSpeed FLOAT64) TYPE File SET(
  'results.csv' as \`SINK\`.FILE_PATH,
  'CSV' as \`SINK\`.INPUT_FORMAT,
  false as \`SINK\`.APPEND
);
SELECT start, end, highway, AVG(speed) AS avgSpeed
FROM (SELECT creationTS, highway, speed FROM lrb)
GROUP BY (highway)
WINDOW SLIDING(creationTS, SIZE 5 MINUTES, ADVANCE BY 1 SEC)
HAVING avgSpeed < FLOAT32(40)
INTO csv_sink`;

test("[SY1] the statements of the coordinator's specification are known", () => {
  examplePlan(specified);
  for (const text of [
    "SELECT start, end, SUM(recordsProcessed) AS totalThroughput FROM worker_statistics WINDOW TUMBLING(size = 5s) INTO dashboard_sink",
    `SELECT workerId, (timestamp - prev_timestamp) as inter_arrival_time
     FROM (SELECT workerId, timestamp, LAG(timestamp) OVER (PARTITION BY workerId) as prev_timestamp FROM heartbeats)
     WINDOW SLIDING(size = 1m, advance = 1s) GROUP BY workerId
     HAVING inter_arrival_time > (AVG(inter_arrival_time) + 3 * STDDEV(inter_arrival_time))
     INTO failure_alert_sink`,
    "SELECT workerId, AVG(cpuUsage) AS avgCpu FROM worker_resources WINDOW SLIDING(size = 1 MINUTE, advance = 10 SECONDS) GROUP BY workerId HAVING avgCpu > 90.0 INTO optimizer_trigger_sink",
  ]) {
    assert.equal(only(text).kind, "query");
  }
});

const errors = [
  ["SELECT a FRM s INTO k", 2000, 1, 14],
  ["SELECT a FROM s", 2000, 1, 16],
  ["SELECT a\nFROM s\nWHERE INTO k", 2000, 3, 7],
  ["CREATE LOGICAL SOURCE s(a UNIT64)", 2023, 1, 27],
  ["SELECT 'a FROM s", 2000, 1, 8],
  ["SELECT a FROM s INTO k; trailing", 2000, 1, 25],
  ["SELECT a FROM s GROUP BY a WHERE a > 1 INTO k", 2000, 1, 28],
  ["SELECT a FROM s, t INTO k", 2000, 1, 16],
] as const;
for (const [text, number, line, column] of errors) {
  test(`[SY3] ${JSON.stringify(text)} is error ${number} at ${line}:${column}`, () => {
    const error = errorOf(() => parseStatements(text));
    assert.equal(error.number, number);
    assert.deepEqual(error.position, { line, column });
  });
}

test("[SY3] a name that is nearly right is suggested", () => {
  assert.match(
    errorOf(() => parseStatements("CREATE SINK k(a UNIT64) TYPE x")).hint ?? "",
    /UINT64/,
  );
  assert.match(errorOf(() => resultOf("SELECT prise FROM bids")).hint ?? "", /price/);
  assert.match(errorOf(() => resultOf("SELECT price FROM bid")).hint ?? "", /bids/);
});

test("[SY4] text that is too long or too deep is refused, and never overflows the stack", () => {
  const deep = (count: number): string =>
    `SELECT ${"(".repeat(count)}price${")".repeat(count)} AS x FROM bids INTO Void()`;
  examplePlan(deep(150));
  const chain = `SELECT ${Array.from({ length: 450 }, () => "auction").join(" + ")} AS x FROM bids INTO Void()`;
  examplePlan(chain);
  for (const text of [
    deep(100_000),
    `SELECT ${"-".repeat(100_000).replaceAll("-", "- ")}1 AS x FROM bids INTO Void()`,
    `SELECT ${"NOT ".repeat(100_000)} a AS x FROM bids INTO Void()`,
    `SELECT a ${"+ a".repeat(100_000)} AS x FROM bids INTO Void()`,
    `SELECT ${"(".repeat(190)}a${`${" + a".repeat(500)})`.repeat(190)} AS x FROM bids INTO Void()`,
    `SELECT a AS x FROM ${"(SELECT * FROM ".repeat(30_000)}`,
    " ".repeat(textCharactersMax + 1),
    `SELECT a FROM s WHERE t = '${"x".repeat(statementCharactersMax)}' INTO k`,
  ]) {
    assert.equal(errorOf(() => parseStatements(text)).number, 2000);
  }
});

const doubling = (body: (of: string) => string, levels: number): string =>
  Array.from({ length: levels }, (_, at) => `w${at + 1} AS (${body(`w${at}`)})`).join(", ");
const twice = (of: string): string => `SELECT auction, ts FROM ${of} UNION SELECT * FROM ${of}`;
const moved = (of: string): string =>
  `SELECT auction, ts FROM ${of} UNION SELECT auction + 1 AS auction, ts FROM ${of}`;

test("[SY7] a query that doubles itself at each level is refused, and soon", () => {
  const first = "WITH w0 AS (SELECT auction, ts FROM bids), ";
  const texts = [
    `${first}${doubling(twice, 60)} SELECT auction FROM w60 INTO Void()`,
    `${first}${doubling(moved, 60)} SELECT COUNT(*) AS n FROM w60 WINDOW TUMBLING(ts, SIZE 1 SEC) INTO Void()`,
    `${first}${doubling(moved, 60)} SELECT COUNT(*) AS n FROM w60 WINDOW TUMBLING(SIZE 1 SEC) INTO Void()`,
  ];
  for (const text of texts) assert.equal(errorOf(() => examplePlan(text)).number, 2008);
  const parted = examplePlan(
    `${first}${doubling(moved, 60)} SELECT auction FROM w60 WHERE auction > 1 INTO Print()`,
  );
  assert.equal(errorOf(() => insertExchanges(parted)).number, 2008);
});

test("[SY7] a chain of unions is one union", () => {
  const chain = Array.from({ length: 500 }, (_, at) => `SELECT auction + ${at} AS x FROM bids`);
  const plan = examplePlan(`${chain.join(" UNION ")} INTO Void()`);
  assert.equal(plan.nodes.filter(({ op }) => op.kind === "union").length, 1);
});

test("[SY3] a name of any length does not fill the message", () => {
  const error = errorOf(() => examplePlan(`SELECT ${"x".repeat(50_000)} FROM bids INTO Void()`));
  assert.equal(error.number, 2003);
  assert.ok(error.message.length < 500);
});

test("[SY7] a view is bound once, however often it is used", () => {
  const views = Array.from(
    { length: 40 },
    (_, at) => `CREATE VIEW v${at + 1} AS ${moved(`v${at}`)};`,
  );
  const text = `CREATE VIEW v0 AS SELECT auction, ts FROM bids; ${views.join("\n")}`;
  const plan = examplePlan(`${text} SELECT auction FROM v40 INTO Void()`);
  assert.ok(plan.nodes.length < 100);
});

const spellings = [
  [
    "SELECT COUNT(*) AS c FROM bids WINDOW TUMBLING(ts, SIZE 5 SEC)",
    "SELECT COUNT(*) AS c FROM bids WINDOW TUMBLING(ts, size = 5s)",
  ],
  [
    "SELECT COUNT(*) AS c FROM bids WINDOW SLIDING(ts, SIZE 1 MINUTE, ADVANCE BY 500 MS)",
    "SELECT COUNT(*) AS c FROM bids WINDOW SLIDING(ts, size = 1m, advance = 500ms)",
  ],
  ["SELECT auction FROM bids WHERE auction = 1", "SELECT auction FROM bids WHERE auction == 1"],
  ["SELECT auction FROM bids WHERE auction != 1", "SELECT auction FROM bids WHERE auction <> 1"],
  [
    "SELECT auction, COUNT(*) AS c FROM bids GROUP BY auction WINDOW TUMBLING(ts, SIZE 1 HOUR)",
    "SELECT auction, COUNT(*) AS c FROM bids WINDOW TUMBLING(ts, SIZE 1 HOUR) GROUP BY (auction)",
  ],
] as const;
for (const [one, other] of spellings) {
  test(`[SY5] ${other}`, () => {
    assert.deepEqual(examplePlan(`${one} INTO Void()`), examplePlan(`${other} INTO Void()`));
  });
}

const refused = [
  ["SELECT COUNT(*) AS c FROM bids WINDOW THRESHOLD(price > 1, 5) INTO k", /THRESHOLD/],
  ["SELECT COUNT(*) AS c FROM bids WINDOW TUMBLING(SIZE 10 ROWS) INTO k", /count of rows/],
  ["SELECT ts FROM bids ORDER BY ts INTO k", /ORDER BY/],
  ["SELECT ts FROM bids LIMIT 5 INTO k", /LIMIT/],
  ["SELECT ts FROM bids UNION DISTINCT SELECT ts FROM bids INTO k", /UNION DISTINCT/],
  ["CREATE MODEL m", /models/],
] as const;
for (const [text, message] of refused) {
  test(`[SY6] ${text} is refused by name`, () => {
    assert.match(errorOf(() => parseStatements(text)).message, message);
  });
}

test("[SY6] SELECT DISTINCT is refused by name", () => {
  assert.match(errorOf(() => resultOf("SELECT DISTINCT ts FROM bids")).message, /DISTINCT/);
});
