import assert from "node:assert/strict";
import { test } from "node:test";
import { bindPlan } from "../bind/plan-query.ts";
import { checkPlan, hashPlan } from "../check-plan.ts";
import type { Field } from "../data-type.ts";
import { defaultDialect } from "../dialect-settings.ts";
import { LocalCatalog } from "../local-catalog.ts";
import { parseStatements } from "../parse/parse-statements.ts";
import type { Plan, SourceOp } from "../plan.ts";
import { planQuery } from "../plan-statement.ts";
import { exampleCatalog, examplePlan, exampleStatements, sinkOf } from "../testing.ts";
import { optimizePlan, rules } from "./optimize.ts";

const window = "WINDOW TUMBLING(ts, SIZE 1 SEC)";
const queries = [
  "SELECT * FROM bids",
  "SELECT 1 AS one FROM bids",
  "SELECT price AS p FROM (SELECT ts, price, auction + 1 AS a FROM bids WHERE auction > 1) WHERE price < 5 AND a > 2",
  "SELECT ts FROM twice WHERE v > 1 UNION SELECT ts FROM bids WHERE price > 1 AND TRUE",
  `SELECT auction, MAX(price) AS m FROM bids WHERE name = 'x' GROUP BY auction ${window} HAVING COUNT(*) > 1`,
  `SELECT m FROM (SELECT start, end, auction, MAX(price) AS m, MIN(price) AS n FROM bids GROUP BY auction ${window})`,
  "SELECT cost FROM (SELECT * FROM bids JOIN asks ON auction = item AND price < cost WINDOW TUMBLING(ts, at, SIZE 1 SEC)) WHERE price > 2 AND flag",
  "SELECT a.price AS x, b.name AS y FROM bids a LEFT JOIN bids b ON a.auction = b.auction WINDOW TUMBLING(a.ts, b.ts, SIZE 1 SEC) WHERE b.price > 1",
  "SELECT a.price AS x FROM bids a JOIN asks b ON a.auction = b.item AND b.at BETWEEN a.ts - 5 SEC AND a.ts + 1 SEC WHERE flag",
  "SELECT price, city FROM bids JOIN TABLE customers ON auction = id AND price > 1 WHERE city = 'x'",
  "SELECT COUNT(*) AS c FROM bids WINDOW TUMBLING(size = 1s)",
  "SELECT CASE WHEN 1 = 2 THEN auction ELSE auction + 1 * 2 END AS x FROM bids WHERE 1 < 2",
  "WITH w AS (SELECT ts, price FROM bids) SELECT ts FROM w WHERE price > 1 UNION SELECT ts FROM w",
];

function bound(text: string): Plan {
  const [statement] = parseStatements(`${text} INTO Void()`);
  assert.ok(statement?.kind === "query");
  return bindPlan(statement.query, exampleCatalog(), defaultDialect);
}

for (const text of queries) {
  test(`[SY40] every rule keeps a plan whole and the result's columns: ${text}`, () => {
    const plan = bound(text);
    checkPlan(plan);
    const { schema } = sinkOf(plan);
    for (const { apply } of rules) {
      const changed = apply(plan);
      checkPlan(changed);
      assert.deepEqual(sinkOf(changed).schema, schema);
    }
    const optimized = optimizePlan(plan);
    checkPlan(optimized);
    assert.deepEqual(sinkOf(optimized).schema, schema);
    assert.deepEqual(optimizePlan(optimized), optimized);
  });
}

function sourcesOf(text: string): readonly (readonly string[])[] {
  const { nodes } = examplePlan(`${text} INTO Void()`);
  return nodes.flatMap(({ op }) => (op.kind === "source" ? [namesOf(op)] : []));
}

function namesOf({ record, columns }: SourceOp): readonly string[] {
  return columns.map((index) => record[index]?.name ?? "");
}

const columns = [
  ["SELECT price FROM bids WHERE auction > 1", [["auction", "price"]]],
  ["SELECT 1 AS one FROM bids", [["auction"]]],
  [queries[5] as string, [["ts", "auction", "price"]]],
  [
    queries[6] as string,
    [
      ["ts", "auction", "price"],
      ["at", "item", "cost", "flag"],
    ],
  ],
  [
    "WITH w AS (SELECT ts, price FROM bids) SELECT ts FROM w WHERE price > 1 UNION SELECT ts FROM w",
    [["ts", "price"]],
  ],
] as const;
for (const [text, want] of columns) {
  test(`[SY41] a source reads only what is used: ${text}`, () => {
    assert.deepEqual(sourcesOf(text), want);
  });
}

test("[SY41] aggregates that nobody reads are left out", () => {
  const { nodes } = examplePlan(`${queries[5]} INTO Void()`);
  const ops = nodes.map(({ op }) => op);
  const aggregate = ops.find((op) => op.kind === "windowAggregate");
  assert.equal(aggregate?.aggregates.length, 1);
});

/** The kinds of nodes, inputs first. */
function kindsOf(text: string): string {
  const { nodes } = examplePlan(`${text} INTO Void()`);
  return nodes.map(({ op }) => op.kind).join(" ");
}

const shapes = [
  [
    "[SY42] filters below a projection become one",
    queries[2] as string,
    "source filter project filter project sink",
  ],
  [
    "[SY42] through a union",
    "SELECT ts FROM (SELECT ts, v FROM twice) WHERE v > 1",
    "source filter project source filter project union sink",
  ],
  [
    "[SY42] never below the time",
    `SELECT COUNT(*) AS c FROM (SELECT * FROM bids) WHERE auction > 1 ${window}`,
    "source eventTime filter project windowAggregate project sink",
  ],
  [
    "[SY42] to the side of a join",
    queries[6] as string,
    "source eventTime filter source eventTime filter project windowJoin project sink",
  ],
  [
    "[SY42] not to the optional side",
    queries[7] as string,
    "source eventTime project windowJoin project filter project sink",
  ],
  [
    "[SY42] a condition that can fail stays above another",
    "SELECT ts FROM (SELECT * FROM bids WHERE auction != 0) WHERE 10 / auction > 1",
    "source filter filter project sink",
  ],
  [
    "[SY43] constants are computed, and a projection that changes nothing goes",
    "SELECT ts, auction, price, name FROM (SELECT * FROM bids WHERE 2 + 2 = 4)",
    "source sink",
  ],
] as const;
for (const [name, text, want] of shapes) {
  test(`${name}: ${text}`, () => assert.equal(kindsOf(text), want));
}

/** A plan over a table with these columns besides `id` and `city`. */
function overCustomers(text: string, more: readonly string[]): Plan {
  const field = (name: string): Field => ({ name, type: { name: "VARSIZED", nullable: true } });
  const id: Field = { name: "id", type: { name: "INT32", nullable: false } };
  const [before = [], behind = []] = [more.slice(0, 1), more.slice(1)];
  const schema = [...before.map(field), id, field("city"), ...behind.map(field)];
  const catalog = new LocalCatalog(defaultDialect, [{ name: "customers", schema }]);
  for (const statement of parseStatements(exampleStatements)) catalog.apply(statement);
  const [statement] = parseStatements(`${text} INTO Void()`);
  assert.ok(statement?.kind === "query");
  return planQuery(statement.query, catalog, defaultDialect);
}

const lookups = [
  ["SELECT price FROM bids JOIN TABLE customers ON auction = id", ["id"]],
  ["SELECT price, city FROM bids LEFT JOIN TABLE customers ON auction = id", ["id", "city"]],
  ["SELECT price FROM bids JOIN TABLE customers ON auction = id AND city <> name", ["id", "city"]],
  [
    `SELECT city, COUNT(*) AS n FROM bids JOIN TABLE customers ON auction = id GROUP BY city ${window}`,
    ["id", "city"],
  ],
] as const;
for (const [text, wanted] of lookups) {
  test(`[SY48] a lookup join keeps the columns that are used, and the others do not count: ${text}`, () => {
    const plan = overCustomers(text, ["first", "last"]);
    checkPlan(plan);
    const op = plan.nodes.map((node) => node.op).find(({ kind }) => kind === "lookupJoin");
    assert.ok(op?.kind === "lookupJoin");
    assert.deepEqual(
      op.columns.map(({ name }) => name),
      wanted,
    );
    assert.equal(hashPlan(plan), hashPlan(overCustomers(text, [])));
  });
}
