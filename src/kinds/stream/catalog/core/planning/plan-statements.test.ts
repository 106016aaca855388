import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatingError } from "../../../../../ground/kernel/errors.ts";
import {
  defaultDialect,
  LocalCatalog,
  parseStatements,
  planQuery,
} from "../../../language/core/index.ts";
import { topology, worker } from "../../testing/placed-plans.ts";
import { emptySnapshot, snapshotOf } from "../../testing/snapshots.ts";
import type { CatalogChange, CatalogQuestion } from "../changes.ts";
import type { CatalogSnapshot, PlannerInput } from "../planner.ts";
import { planStatements } from "./plan-statements.ts";

const definitions = `
  CREATE LOGICAL SOURCE bids(ts UINT64 NOT NULL, auction INT32, price FLOAT64) WATERMARK(ts, 1 SEC);
  CREATE PHYSICAL SOURCE FOR bids TYPE File SET('a.csv' AS "SOURCE".FILE_PATH, 'w2' AS "SOURCE"."HOST");
  CREATE PHYSICAL SOURCE FOR bids TYPE TCP SET('h' AS "SOURCE".SOCKET_HOST, 1 AS "SOURCE".SOCKET_PORT);
  CREATE VIEW dear AS SELECT ts, auction, price FROM bids WHERE price > FLOAT64(10);
  CREATE LOGICAL SOURCE known AS SELECT ts, auction FROM dear;
  CREATE SINK hot(auction INT32, n UINT64 NOT NULL) TYPE File SET('hot.csv' AS "SINK".FILE_PATH);
  CREATE SINK any TYPE Void;`;

function changes(
  inputs: readonly PlannerInput[],
  on: CatalogSnapshot = snapshotOf(definitions),
): readonly CatalogChange[] {
  return planStatements(inputs, on).flatMap((one) => (one.kind === "change" ? [one.change] : []));
}

function changeOf<K extends CatalogChange["kind"]>(
  kind: K,
  input: PlannerInput,
  on?: CatalogSnapshot,
): Extract<CatalogChange, { readonly kind: K }> {
  const [change, ...more] = changes([input], on);
  assert.equal(more.length, 0);
  assert.equal(change?.kind, kind);
  return change as Extract<CatalogChange, { readonly kind: K }>;
}

function question(input: string): CatalogQuestion {
  const [planned] = planStatements([input], snapshotOf(definitions));
  assert.equal(planned?.kind, "question");
  return planned?.kind === "question" ? planned.question : assert.fail();
}

/** Code, number, line and column, message. */
function refusal(inputs: readonly PlannerInput[], on = snapshotOf(definitions)): string {
  try {
    planStatements(inputs, on);
  } catch (thrown) {
    assert.ok(thrown instanceof OperatingError, String(thrown));
    const { code, number, position, message, hint } = thrown;
    const at = position === undefined ? "" : ` at ${position.line}:${position.column}`;
    return `${code} ${number}${at}: ${message}${hint === undefined ? "" : ` | ${hint}`}`;
  }
  return "it was planned";
}

test("[SC54] a query shows the weakest guarantee of its sources and sinks", () => {
  const file = `File('a.csv' AS "SOURCE".FILE_PATH, SCHEMA(x UINT64) AS "SOURCE"."SCHEMA")`;
  const tcp = `TCP('h' AS "SOURCE".SOCKET_HOST, 1 AS "SOURCE".SOCKET_PORT, SCHEMA(x UINT64) AS "SOURCE"."SCHEMA")`;
  const outFile = `File('o.csv' AS "SINK".FILE_PATH)`;
  for (const [text, want] of [
    [`SELECT x FROM ${file} INTO ${outFile}`, "exactly once"],
    [`SELECT x FROM ${file} INTO ${outFile}, Print()`, "at least once"],
    [`SELECT x FROM ${tcp} INTO ${outFile}`, "at most once"],
    [`SELECT x FROM ${tcp} INTO Print()`, "at most once"],
  ] as const) {
    assert.equal(changeOf("createQuery", `CREATE QUERY q AS ${text}`).guarantee, want, text);
  }
});

const grouped =
  "SELECT auction, COUNT(*) AS n FROM bids GROUP BY auction WINDOW TUMBLING(ts, SIZE 1 SEC)";

test("[SC20] [SC8] a query has its plan, its fragments, and the sources that there are", () => {
  const change = changeOf("createQuery", `CREATE QUERY q AS ${grouped} INTO hot;`);
  assert.deepEqual(change.logicalSources, ["1"]);
  assert.deepEqual(change.physicalSources, ["2", "3"]);
  assert.deepEqual(change.sinks, ["6"]);
  assert.equal(change.guarantee, "at most once");
  assert.equal(change.statement, `CREATE QUERY q AS ${grouped} INTO hot`);
  assert.deepEqual(change.placement, [{ fragment: "f0", workerId: "w2", isPinned: true }]);
  const local = new LocalCatalog(defaultDialect);
  for (const one of parseStatements(definitions)) local.apply(one);
  const [query] = parseStatements(`${grouped} INTO hot;`);
  assert.ok(query?.kind === "query");
  assert.deepEqual(change.plan.plan, planQuery(query.query, local, defaultDialect));
});

test("[SC6] a query refers to the views and sources behind its names, and to all of its sinks", () => {
  const change = changeOf("createQuery", "SELECT auction, ts FROM known INTO any, any;");
  assert.equal(change.name, undefined);
  assert.deepEqual(
    [...change.logicalSources].sort((a, b) => Number(a) - Number(b)),
    ["1", "4", "5"],
  );
  assert.deepEqual(change.sinks, ["7"]);
  const late = `${grouped} INTO hot SET('side' AS "QUERY".LATE, 'any' AS "QUERY".LATE_SINK)`;
  assert.deepEqual(changeOf("createQuery", late).sinks, ["6", "7"]);
});

test("[SC6] tables of the lake are named by their ids, with what is done with them", () => {
  const schema = [{ name: "auction", type: { name: "INT32", nullable: false } }] as const;
  const on = snapshotOf(
    `${definitions}
     CREATE SINK stored TYPE Lake SET('results' AS "SINK"."TABLE");`,
    undefined,
    [
      { name: "results", tableId: 7, schema },
      { name: "items", tableId: 8, schema },
    ],
  );
  const query =
    "SELECT bids.auction AS auction FROM bids JOIN TABLE items ON bids.auction = items.auction";
  const change = changeOf(
    "createQuery",
    `SELECT COALESCE(auction, 0) AS auction FROM (${query}) INTO stored`,
    on,
  );
  assert.deepEqual(
    [...change.tables].sort((one, other) => one.tableId - other.tableId),
    [
      { tableId: 7, writes: true },
      { tableId: 8, writes: false },
    ],
  );
});

test("[SC20] statements of a bundle see what stands before them, and replace it", () => {
  const on = snapshotOf(definitions);
  const [dropped, created, physical, view, query] = changes(
    [
      "DROP QUERY q SOFT; DROP SINK any",
      "CREATE LOGICAL SOURCE offers(ts UINT64 NOT NULL, a INT8)",
      `CREATE PHYSICAL SOURCE FOR offers TYPE File SET('o' AS "SOURCE".FILE_PATH)`,
      "CREATE VIEW v AS SELECT a FROM offers",
      "CREATE SINK any TYPE Print; CREATE QUERY q AS SELECT a FROM v INTO any",
    ],
    on,
  ).filter(({ kind }, at) => at !== 1 && kind !== "createSink");
  assert.deepEqual(dropped, {
    ...{ kind: "drop", object: "query", name: "q", ifExists: false, mode: "SOFT" },
  });
  assert.ok(created?.kind === "createLogicalSource" && created.sourceKind === "LOGICAL");
  assert.ok(physical?.kind === "createPhysicalSource" && physical.sourceId === "new:2");
  assert.ok(view?.kind === "createLogicalSource" && view.sourceKind === "VIEW");
  assert.equal(view.kind === "createLogicalSource" && view.definition, "SELECT a FROM offers");
  assert.deepEqual(view.kind === "createLogicalSource" && view.uses, ["new:2"]);
  assert.ok(query?.kind === "createQuery");
  assert.equal(query.replaces, true);
  assert.deepEqual(new Set(query.logicalSources), new Set(["new:2", "new:4"]));
  assert.deepEqual(query.physicalSources, ["new:3"]);
  assert.deepEqual(query.sinks, ["new:5"]);
});

test("[SC20] a column is added to a source, with the query that reads it", () => {
  const bundle = changes([
    "DROP QUERY q; DROP PHYSICAL SOURCE 2; DROP PHYSICAL SOURCE 3; DROP VIEW dear; DROP SOURCE known",
    "DROP LOGICAL SOURCE bids; CREATE LOGICAL SOURCE bids(ts UINT64 NOT NULL, more INT8)",
    `CREATE PHYSICAL SOURCE FOR bids TYPE File SET('b' AS "SOURCE".FILE_PATH)`,
    "CREATE QUERY q AS SELECT more FROM bids INTO any",
  ]);
  const query = bundle.at(-1);
  assert.ok(query?.kind === "createQuery" && query.replaces);
  assert.deepEqual(query.logicalSources, ["new:6"]);
  assert.deepEqual(query.physicalSources, ["new:7"]);
});

test("[SC21] queries of one bundle do not share slots", () => {
  const on = snapshotOf(
    definitions,
    topology([worker("w1", { slots: 2 }), worker("w2", { slots: 1 })]),
  );
  const text = "SELECT auction FROM bids INTO any";
  assert.match(refusal([text, text], on), /^InsufficientCapacity 2300 at 1:1: statement 2: /);
  assert.throws(() => planStatements([text, text], on), { statement: 2 });
  const replaced = changeOf("createQuery", `CREATE OR REPLACE QUERY q AS ${text}`, on);
  assert.equal(replaced.replaces, true);
});

test("[SC18] placements go to the store as they are written, without their settings", () => {
  const source = changeOf(
    "createPhysicalSource",
    `CREATE PHYSICAL SOURCE FOR bids TYPE HTTP SET('edge:1' AS "SOURCE"."HOST", SECRET('door') AS "SOURCE".TOKEN)`,
  );
  assert.equal(source.placement, "edge:1");
  assert.equal(source.config.PLACEMENT, undefined);
  assert.equal(source.config.TOKEN, "SECRET('door')");
  const sink = changeOf("createSink", `CREATE SINK p TYPE Print SET('w1' AS "SINK".PLACEMENT)`);
  assert.deepEqual([sink.placement, sink.config], ["w1", {}]);
});

const workers: readonly (readonly [text: string, want: object])[] = [
  [
    "CREATE WORKER 'edge-1:4611' SET ('edge-1:4612' AS DATA, 100 AS CAPACITY, 'w-2' AS PEERS)",
    {
      label: undefined,
      host: "edge-1",
      grpcPort: 4611,
      dataPort: 4612,
      slots: 100,
      peers: ["w-2"],
    },
  ],
  [
    `CREATE WORKER IF NOT EXISTS gate SET('h' AS "WORKER".HOST_NAME, 1 AS "WORKER".GRPC_PORT, 'a, b' AS PEERS)`,
    { label: "gate", host: "h", grpcPort: 1, slots: 1000, peers: ["a", "b"], ifNotExists: true },
  ],
  ["CREATE WORKER '[::1]:4611' SET('x' AS NAME)", { label: "x", host: "::1", grpcPort: 4611 }],
  ["CREATE WORKER h SET(4611 AS GRPC_PORT, 4612 AS DATA_PORT)", { host: "h", dataPort: 4612 }],
];
for (const [text, want] of workers) {
  test(`[SC16] ${text}`, () => {
    const change = changeOf("createWorker", text);
    const found = Object.fromEntries(Object.entries(change).filter(([key]) => key in want));
    assert.deepEqual(found, want);
  });
}

const shown: readonly (readonly [text: string, want: object])[] = [
  ["SHOW QUERIES", { object: "query", filter: {}, format: "text", asStatement: false }],
  ["SHOW QUERY q", { object: "query", filter: { byName: "q" } }],
  [
    "SHOW QUERIES WHERE state = 'failed' AND on_worker = 'w1' FORMAT JSON",
    {
      ...{ object: "query", filter: { withState: "FAILED", onWorker: "w1" }, format: "json" },
    },
  ],
  [
    "SHOW PHYSICAL SOURCES FOR bids WHERE type = 'File'",
    {
      filter: { forLogical: "bids", byType: "File" },
    },
  ],
  ["SHOW PHYSICAL SOURCE 3", { filter: { byId: "3" } }],
  [
    "SHOW WORKERS WHERE capacity >= 3 AND host = 'w1'",
    { filter: { withCapacity: 3, byName: "w1" } },
  ],
  ["SHOW CREATE VIEW dear", { object: "view", filter: { byName: "dear" }, asStatement: true }],
  ["SHOW VIEWS", { object: "view", filter: {} }],
];
for (const [text, want] of shown) {
  test(`[SC12] ${text}`, () => {
    const found = Object.entries(question(text)).filter(([key]) => key in want);
    assert.deepEqual(Object.fromEntries(found), want);
  });
}

test("[SC12] DROP, PAUSE, RESUME and EXPLAIN", () => {
  assert.deepEqual(changeOf("drop", "DROP SOURCE IF EXISTS nothing"), {
    ...{ kind: "drop", object: "logical source", name: "nothing", ifExists: true, mode: "HARD" },
  });
  const graceful = changeOf("drop", `DROP QUERY WHERE ID = '7' SET('graceful' AS "QUERY".MODE)`);
  assert.deepEqual([graceful.name, graceful.mode], ["7", "SOFT"]);
  assert.deepEqual(changeOf("setDesired", "PAUSE QUERY q").desired, "PAUSED");
  assert.deepEqual(changeOf("setDesired", "RESUME QUERY 7").query, "7");
  const explained = question("EXPLAIN FORMAT JSON SELECT auction FROM bids INTO any");
  assert.ok(explained.kind === "explain" && explained.answer.startsWith("{"));
});

const thousand = Array.from({ length: 1_000 }, (_, at) => `c${at} INT8`).join(", ");
const refusals: readonly (readonly [text: string, want: RegExp])[] = [
  ["SELEC a", /^ParserError 2000 at 1:1: unexpected "SELEC"/],
  [
    `SELECT ${"a + ".repeat(300_000)} b`,
    /^ParserError 2000: the text has .* characters, the most is/,
  ],
  ["CREATE LOGICAL SOURCE s()", /^EmptySchema 2000 at 1:1: a schema has at least one column/],
  ["CREATE LOGICAL SOURCE s(a INT8, A INT8)", /^InvalidSchema 2005 at 1:33: the column A/],
  ["CREATE LOGICAL SOURCE s(a WORD)", /^InvalidSchema 2023 at 1:27/],
  ["CREATE LOGICAL SOURCE s(a INT8) WATERMARK(b, 1 SEC)", /^InvalidSchema 2003/],
  [
    "CREATE LOGICAL SOURCE Bids(a INT8)",
    /^AlreadyExists 2031 at 1:23: the logical source bids exists/,
  ],
  ["CREATE VIEW bids AS SELECT auction FROM bids", /^AlreadyExists 2031/],
  ["CREATE VIEW v AS SELECT nothing FROM bids", /^BinderError 2003 at 1:25/],
  ["CREATE LOGICAL SOURCE v AS SELECT a FROM nothing", /^BinderError 2030/],
  [`CREATE LOGICAL SOURCE "${"x".repeat(256)}"(a INT8)`, /^BinderError 2009 at 1:23/],
  [`CREATE SINK "a\u0000b" TYPE Void`, /^BinderError 2009/],
  [`CREATE QUERY "12" AS SELECT auction FROM bids INTO any`, /^BinderError 2009.*id of a query/],
  [
    "CREATE PHYSICAL SOURCE FOR nothing TYPE File",
    /^LogicalSourceDoesNotExistForPhysical 2030 at 1:28/,
  ],
  ["CREATE PHYSICAL SOURCE FOR dear TYPE File", /^LogicalSourceDoesNotExistForPhysical 2030/],
  ["CREATE PHYSICAL SOURCE FOR bids TYPE Fil", /^SourceTypeDoesNotExist 2017 at 1:38.*File/],
  ["CREATE PHYSICAL SOURCE FOR bids TYPE File", /^InvalidConfig 1000.*FILE_PATH/],
  ...["", "/etc/passwd", "a/../../b.csv", "C:b.csv"].map((path): [string, RegExp] => [
    `CREATE PHYSICAL SOURCE FOR bids TYPE File SET('${path}' AS "SOURCE".FILE_PATH)`,
    /^InvalidConfig 1000.*(its path is empty|it has to be relative, without \.\.)/,
  ]),
  [
    `CREATE SINK k TYPE File SET('../b.csv' AS "SINK".FILE_PATH)`,
    /^InvalidConfig 1000.*the file \.\.\/b\.csv cannot be used/,
  ],
  [
    `CREATE PHYSICAL SOURCE FOR bids TYPE TCP SET('h' AS "SOURCE".SOCKET_HOST, 70000 AS "SOURCE".SOCKET_PORT)`,
    /^InvalidConfig 1000 at 1:75: SOCKET_PORT is an integer from 1 to 65535/,
  ],
  ["CREATE SINK any TYPE Void", /^AlreadyExists 2034 at 1:13/],
  ["CREATE SINK k TYPE Nope", /^SinkTypeDoesNotExist 2016/],
  ["CREATE SINK k() TYPE Void", /^EmptySchema 2000/],
  ["SELECT auction FROM bids INTO nowhere", /^SinkDoesNotExistForQuery 2033 at 1:31/],
  ["SELECT nothing FROM bids INTO any", /^BinderError 2003 at 1:8/],
  ["SELECT auction FROM nothing INTO any", /^BinderError 2030 at 1:21/],
  ["SELECT auction FROM bids INTO File()", /^BinderError 1000/],
  [
    `SELECT auction FROM bids INTO Void('gone' AS "SINK"."HOST")`,
    /^WorkerDoesNotExistForSink 2302/,
  ],
  [
    'CREATE QUERY q AS SELECT auction FROM bids INTO any SET(300 AS "QUERY".PARALLELISM)',
    /^BinderError 1000.*PARALLELISM is an integer from 1 to 256/,
  ],
  ["CREATE WORKER 'w:0'", /^InvalidAddress undefined at 1:15: a port is a number from 1 to 65535/],
  ["CREATE WORKER 'w:65536'", /^InvalidAddress/],
  ["CREATE WORKER 'a b:1'", /^InvalidAddress.*is no address/],
  ["CREATE WORKER w", /^InvalidAddress.*has no port/],
  ["CREATE WORKER 'w:-1'", /^InvalidAddress/],
  ["CREATE WORKER 'w:grpc'", /^InvalidAddress undefined at 1:15: .*not 'grpc'/],
  ["CREATE WORKER 'w:1' SET(0 AS DATA_PORT)", /^InvalidAddress.*DATA_PORT is an integer from 1/],
  ["CREATE WORKER w SET(65536 AS GRPC_PORT)", /^InvalidAddress.*from 1 to 65535/],
  ["CREATE WORKER 'w:1' SET('soon' AS DATA_PORT)", /^InvalidAddress.*DATA_PORT is an integer/],
  ["CREATE WORKER 'w:1' SET(-1 AS CAPACITY)", /^InvalidConfig 1000.*CAPACITY is an integer/],
  [
    "CREATE WORKER 'w:1' SET('other:2' AS DATA)",
    /^InvalidAddress.*arrive at the worker's own host w/,
  ],
  ["CREATE WORKER 'w:1' SET(1 AS SLOTTS)", /^InvalidConfig 1000.*no setting WORKER.SLOTTS/],
  [
    "SHOW QUERIES WHERE colour = 'red'",
    /^BinderError 2000 at 1:20: SHOW has no column colour here/,
  ],
  ["SHOW QUERIES WHERE state = 'GONE'", /^BinderError 2000 at 1:28: there is no state GONE/],
  ["SHOW SINKS WHERE name LIKE 'a%'", /^BinderError 2000.*comparisons with constants/],
  ["CREATE OR REPLACE SINK k TYPE Void", /^ParserError 2000.*only a query can be replaced/],
];
for (const [text, want] of refusals) {
  test(`[SC20] refused: ${JSON.stringify(text).slice(0, 90)}`, () =>
    assert.match(refusal([text]), want));
}

test("[SC20] a source without anything to read cannot be placed", () => {
  const on = snapshotOf("CREATE LOGICAL SOURCE dry(a INT8); CREATE SINK any TYPE Void;");
  assert.match(refusal(["SELECT a FROM dry INTO any"], on), /^PlacementError 2030 at 1:15/);
});

test("[SC20] a placement that fails has its place and its number", () => {
  const on = snapshotOf(definitions, topology([worker("w1"), worker("w2", { slots: 0 })]));
  const want = /^InsufficientCapacity 2300 at 2:1: the query needs 1 stream slot of the worker w2/;
  assert.match(refusal(["-- first\nSELECT auction FROM bids INTO any"], on), want);
  const none = snapshotOf(definitions, topology(["w2"]));
  const nobody = { ...none, topology: topology([]) };
  assert.match(
    refusal(["SELECT auction FROM bids INTO any"], nobody),
    /^WorkerDoesNotExistForPhysical/,
  );
});

test("[SC20] a thousand columns, and names that are words of the language, are planned", () => {
  const names = `CREATE LOGICAL SOURCE "SELECT"(${thousand}, "FROM" INT8);
    CREATE PHYSICAL SOURCE FOR "select" TYPE File SET('f' AS "SOURCE".FILE_PATH);
    CREATE SINK "INTO" TYPE Void; CREATE QUERY "a/b; DROP" AS SELECT * FROM "Select" INTO "into";`;
  const planned = planStatements([names], emptySnapshot());
  const last = planned.at(-1);
  assert.ok(last?.kind === "change" && last.change.kind === "createQuery");
  assert.equal(last.change.name, "a/b; DROP");
});

test("[SC20] a statement in its typed form is planned as its text is", () => {
  const text = `CREATE QUERY q AS ${grouped} INTO hot`;
  const [typed] = parseStatements(text);
  assert.ok(typed !== undefined);
  assert.deepEqual(changes([typed]), changes([text]));
});
