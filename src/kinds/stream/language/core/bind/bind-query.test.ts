import assert from "node:assert/strict";
import { test } from "node:test";
import { checkPlan } from "../check-plan.ts";
import { defaultDialect, suiteDialect, withBufferSize } from "../dialect-settings.ts";
import { parseStatements } from "../parse/parse-statements.ts";
import { planQuery } from "../plan-statement.ts";
import { errorOf, exampleCatalog, examplePlan, resultOf, sinkOf } from "../testing.ts";

const window = "WINDOW TUMBLING(ts, SIZE 1 SEC)";

const results = [
  [
    "[SY20] an asterisk",
    "SELECT * FROM asks",
    "at INT64, item INT32, cost FLOAT64?, flag BOOLEAN, letter CHAR",
  ],
  [
    "[SY20] a qualified asterisk",
    "SELECT b.* FROM bids AS b",
    "ts UINT64, auction INT32, price FLOAT64?, name VARSIZED?",
  ],
  ["[SY20] qualified by the source", "SELECT BIDS.Price FROM bids", "price FLOAT64?"],
  ["[SY20] an alias", 'SELECT price p, ts AS "T s" FROM bids', "p FLOAT64?, T s UINT64"],
  [
    "[SY20] a nested query",
    "SELECT p + 1 AS q FROM (SELECT price AS p FROM bids) AS x WHERE x.p > 2",
    "q FLOAT64?",
  ],
  ["[SY20] WITH", "WITH w AS (SELECT ts FROM bids) SELECT w.ts FROM w", "ts UINT64"],
  [
    "[SY20] bounds of the own window go first",
    `SELECT start, SUM(c) AS s FROM (SELECT start, COUNT(*) AS c FROM bids ${window}) WINDOW TUMBLING(start, SIZE 2 SEC)`,
    "start UINT64, s UINT64",
  ],
  [
    "[SY20] a window join",
    "SELECT * FROM bids JOIN asks ON auction = item WINDOW TUMBLING(ts, at, SIZE 1 SEC)",
    "start UINT64, end UINT64, ts UINT64, auction INT32, price FLOAT64?, name VARSIZED?, at INT64, item INT32, cost FLOAT64?, flag BOOLEAN, letter CHAR",
  ],
  [
    "[SY20] an outer join",
    "SELECT ts, at FROM bids LEFT JOIN asks ON auction = item WINDOW TUMBLING(ts, at, SIZE 1 SEC)",
    "ts UINT64, at INT64?",
  ],
  [
    "[SY20] a join of a source with itself",
    "SELECT a.ts AS l, b.ts AS r FROM bids a JOIN bids b ON a.auction = b.auction WINDOW TUMBLING(a.ts, b.ts, SIZE 1 SEC)",
    "l UINT64, r UINT64",
  ],
  [
    "[SY21] generated names",
    `SELECT COUNT(auction), SUM(price), AVG(price + 1), MIN(price * 2) FROM bids ${window}`,
    "auction_COUNT UINT64, price_SUM FLOAT64?, _AGG_INPUT_0_AVG FLOAT64?, _AGG_INPUT_1_MIN FLOAT64?",
  ],
  ["[SY21] the text", "SELECT price + 1 FROM bids", "price + 1 FLOAT64?"],
  [
    "[SY23] UNION by place",
    "SELECT ts, auction FROM bids UNION ALL SELECT at, item FROM asks",
    "ts FLOAT64, auction INT32",
  ],
  [
    "[SY24] keys may be expressions",
    `SELECT auction % 2, COUNT(*) AS c FROM bids GROUP BY auction % 2 ${window}`,
    "auction % 2 INT32, c UINT64",
  ],
  [
    "[SY24] keys may be aliases",
    `SELECT auction % 2 AS half, COUNT(*) AS c FROM bids GROUP BY half ${window}`,
    "half INT32, c UINT64",
  ],
  [
    "[SY24] HAVING sees names and aggregates",
    `SELECT auction, MAX(price) AS top FROM bids GROUP BY auction ${window} HAVING top > 5 AND COUNT(*) > 1`,
    "auction INT32, top FLOAT64?",
  ],
  [
    "[SY24] a window without aggregates",
    `SELECT start, end FROM bids ${window}`,
    "start UINT64, end UINT64",
  ],
] as const;
for (const [name, text, want] of results) {
  test(`${name}: ${text}`, () => assert.equal(resultOf(text), want));
}

const errors = [
  ["[SY20]", "SELECT x.ts FROM bids", 2000],
  ["[SY20]", "SELECT nosuch FROM bids", 2003],
  ["[SY20]", "SELECT ts AS a, price AS A FROM bids", 2003],
  [
    "[SY20]",
    "SELECT ts FROM bids a JOIN bids b ON a.auction = b.auction WINDOW TUMBLING(a.ts, b.ts, SIZE 1 SEC)",
    2003,
  ],
  ["[SY20]", "SELECT ts FROM nosuch", 2030],
  ["[SY23]", "SELECT ts FROM bids UNION SELECT at, item FROM asks", 2003],
  ["[SY23]", "SELECT name FROM bids UNION SELECT at FROM asks", 2003],
  ["[SY24]", "SELECT COUNT(*) AS c FROM bids", 2000],
  ["[SY24]", "SELECT auction FROM bids GROUP BY auction", 2000],
  ["[SY24]", "SELECT ts FROM bids JOIN asks ON auction = item", 2000],
  ["[SY24]", `SELECT price FROM bids GROUP BY auction ${window}`, 2003],
  ["[SY24]", "SELECT ts FROM bids WHERE price", 2003],
  ["[SY24]", "SELECT COUNT(*) AS c FROM bids WINDOW TUMBLING(name, SIZE 1 SEC)", 2006],
  [
    "[SY15]",
    "SELECT ts FROM bids JOIN asks ON auction = letter WINDOW TUMBLING(ts, at, SIZE 1 SEC)",
    2007,
  ],
] as const;
for (const [rule, text, number] of errors) {
  test(`${rule} ${text} is error ${number}`, () => {
    assert.equal(errorOf(() => resultOf(text)).number, number);
  });
}

test("[SY22] a sink takes columns by name, and widens them", () => {
  const plan = examplePlan("SELECT price, auction FROM bids INTO named");
  const { schema } = sinkOf(plan);
  assert.deepEqual(
    schema.map(({ name, type }) => `${name} ${type.name}`),
    ["auction INT64", "price FLOAT64"],
  );
});

const sinkErrors = [
  ["a column too many", "SELECT price, auction, ts FROM bids INTO named"],
  ["a column too few", "SELECT price FROM bids INTO named"],
  ["a narrower type", "SELECT price, ts AS auction FROM bids INTO named"],
  ["NULL into NOT NULL", "SELECT price, NULLIF(auction, 1) AS auction FROM bids INTO named"],
] as const;
for (const [name, text] of sinkErrors) {
  test(`[SY22] ${name} is error 2003`, () => {
    assert.equal(errorOf(() => examplePlan(text)).number, 2003);
  });
}

test("[SY22] several sinks, named and anonymous", () => {
  const plan = examplePlan("SELECT price, auction FROM bids INTO named, Checksum(), Void()");
  const sinks = plan.nodes.flatMap(({ op }) => (op.kind === "sink" ? op.type : []));
  assert.deepEqual(sinks, ["Void", "Checksum", "Void"]);
});

test("[SY25] a view and a source that is made by a query stand for their query", () => {
  const direct = examplePlan(
    "SELECT p FROM (SELECT price AS p FROM bids WHERE price > 1) INTO Void()",
  );
  for (const kind of ["VIEW", "LOGICAL SOURCE"]) {
    const text = `CREATE ${kind} v AS SELECT price AS p FROM bids WHERE price > 1; SELECT p FROM v INTO Void()`;
    assert.deepEqual(examplePlan(text), direct);
  }
});

test("[SY25] a view that contains itself is refused", () => {
  const catalog = exampleCatalog(
    "CREATE VIEW v AS SELECT ts FROM bids; CREATE VIEW w AS SELECT ts FROM v;",
  );
  for (const statement of parseStatements("DROP VIEW w; CREATE VIEW w AS SELECT ts FROM bids;")) {
    catalog.apply(statement);
  }
  const query = catalog.view("w")?.query;
  assert.ok(query);
  const circular = {
    logicalSource: () => undefined,
    physicalSources: () => [],
    sink: () => undefined,
    view: (name: string) => ({ name, query }),
    hasLake: false,
    table: () => undefined,
    names: () => [],
  };
  const [statement] = parseStatements("SELECT ts FROM w INTO Void()");
  assert.ok(statement?.kind === "query");
  const { query: continuous } = statement;
  const plan = (): unknown => planQuery(continuous, circular, defaultDialect);
  assert.equal(errorOf(plan).number, 2008);
});

test("[SY28] a row that is wider than a buffer is error 3005", () => {
  const text = "SELECT ts, auction, price, name FROM bids INTO Void()";
  examplePlan(text, withBufferSize(suiteDialect, 20));
  const error = errorOf(() => examplePlan(text, withBufferSize(suiteDialect, 19)));
  assert.equal(error.number, 3005);
});

const aside = `SELECT COUNT(*) AS c FROM bids ${window} INTO Void() SET('side' AS "QUERY".LATE`;

test("[SY29] late rows go to a sink, whole and with their lateness", () => {
  const plan = examplePlan(`CREATE SINK late TYPE Print; ${aside}, 'late' AS "QUERY".LATE_SINK)`);
  checkPlan(plan);
  const sink = plan.nodes[plan.settings.lateSink ?? -1];
  assert.equal(sink?.op.kind === "sink" && sink.op.name, "late");
  assert.deepEqual(
    sink?.schema.map(({ name }) => name),
    ["ts", "auction", "price", "name", "late_ms"],
  );
  assert.deepEqual(sink?.inputs, []);
});

test("[SY29] late rows need a sink that is there, and one window", () => {
  const create = "CREATE SINK late TYPE Print; ";
  const join =
    "SELECT ts FROM bids JOIN asks ON auction = item WINDOW TUMBLING(ts, at, SIZE 1 SEC) INTO Void() SET('side' AS \"QUERY\".LATE, 'late' AS \"QUERY\".LATE_SINK)";
  for (const [text, number] of [
    [`${aside})`, 1000],
    [`${aside}, 'nosuch' AS "QUERY".LATE_SINK)`, 2033],
    [`${aside}, 'named' AS "QUERY".LATE_SINK)`, 2003],
    [create + join, 2008],
  ] as const) {
    assert.equal(errorOf(() => examplePlan(text)).number, number);
  }
});

test("[SY27] settings of a query", () => {
  const { settings } = examplePlan(
    'SELECT ts FROM bids INTO Void() SET(\'fail\' AS "QUERY".LATE, \'250 ms\' AS "QUERY".IDLE_TIMEOUT, 2 AS "QUERY".PARALLELISM, 0 SEC AS "QUERY".REPLACE_AFTER, 2 SEC AS "QUERY".CHECKPOINT_PAUSE, 1 MINUTE AS "QUERY".CHECKPOINT_TIMEOUT, 5 AS "QUERY".CHECKPOINTS_KEPT)',
  );
  assert.deepEqual(
    [settings.late, settings.idleTimeoutMs, settings.parallelism, settings.checkpointIntervalMs],
    ["fail", 250, 2, 10_000],
  );
  assert.equal(settings.replaceAfterMs, 0);
  const { checkpointPauseMs, checkpointTimeoutMs, checkpointsKept } = settings;
  assert.deepEqual([checkpointPauseMs, checkpointTimeoutMs, checkpointsKept], [2_000, 60_000, 5]);
});

test("[SY5] a duration of a setting needs no quotes", () => {
  for (const value of ["'5 SEC'", "5 SEC", "5s", "5000"]) {
    const { settings } = examplePlan(
      `SELECT ts FROM bids INTO Void() SET(${value} AS "QUERY".IDLE_TIMEOUT)`,
    );
    assert.equal(settings.idleTimeoutMs, 5_000, value);
  }
  const text = 'SELECT ts FROM bids INTO Void() SET(5 SEC AS "QUERY".PARALLELISM)';
  assert.equal(errorOf(() => examplePlan(text)).number, 1000);
});
