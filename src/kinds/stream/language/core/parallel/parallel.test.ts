import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultDialect } from "../dialect-settings.ts";
import { LocalCatalog } from "../local-catalog.ts";
import { parseStatements } from "../parse/parse-statements.ts";
import type { Plan } from "../plan.ts";
import { planQuery } from "../plan-statement.ts";
import { cutPlan } from "./cut-plan.ts";
import { insertExchanges } from "./insert-exchanges.ts";

function planOf(query: string): Plan {
  const catalog = new LocalCatalog(defaultDialect);
  const statements = parseStatements(`
    CREATE LOGICAL SOURCE s(k UINT64 NOT NULL, j UINT64 NOT NULL, v INT64, ts UINT64 NOT NULL);
    CREATE PHYSICAL SOURCE FOR s TYPE File SET('a.csv' AS "SOURCE".FILE_PATH);
    CREATE PHYSICAL SOURCE FOR s TYPE File SET('b.csv' AS "SOURCE".FILE_PATH);
    CREATE SINK out TYPE File SET('out.csv' AS "SINK".FILE_PATH);
    CREATE SINK nowhere TYPE Void;
    ${query}`);
  for (const statement of statements) {
    if (catalog.apply(statement)) continue;
    assert.equal(statement.kind, "query");
    if (statement.kind === "query") return planQuery(statement.query, catalog, defaultDialect);
  }
  throw new Error("there is a query");
}

/** The keys of each exchange and how many branches it takes. */
function exchangesOf({ nodes }: Plan): string[] {
  return nodes.flatMap(({ op, inputs }) =>
    op.kind === "exchange" ? [`${op.keys.join(",")} from ${inputs.length}`] : [],
  );
}

test("[SY90] a keyed aggregation gets its rows by keys, the sink gets all of them", () => {
  const plan = insertExchanges(
    planOf("SELECT k, SUM(v) AS n FROM s GROUP BY k WINDOW TUMBLING(ts, SIZE 1 SEC) INTO out;"),
  );
  const [keyed, gathered, ...more] = exchangesOf(plan);
  assert.match(keyed ?? "", /^\d+ from 2$/);
  assert.equal(gathered, " from 1");
  assert.deepEqual(more, []);
});

test("[SY90] rows that are spread by a key already are not exchanged again for it", () => {
  const plan = insertExchanges(
    planOf(`SELECT k, MAX(n) AS most FROM
      (SELECT k, SUM(v) AS n, start FROM s GROUP BY k WINDOW TUMBLING(ts, SIZE 1 SEC))
      GROUP BY k WINDOW TUMBLING(start, SIZE 2 SEC) INTO nowhere;`),
  );
  assert.equal(exchangesOf(plan).length, 1);
  const other = insertExchanges(
    planOf(`SELECT j, MAX(n) AS most FROM
      (SELECT k, j, SUM(v) AS n, start FROM s GROUP BY (k, j) WINDOW TUMBLING(ts, SIZE 1 SEC))
      GROUP BY j WINDOW TUMBLING(start, SIZE 2 SEC) INTO nowhere;`),
  );
  assert.equal(exchangesOf(other).length, 2);
});

test("[SY90] an aggregation without keys gets all rows in one place", () => {
  const plan = insertExchanges(
    planOf("SELECT SUM(v) AS n FROM s WINDOW TUMBLING(ts, SIZE 1 SEC) INTO out;"),
  );
  assert.deepEqual(exchangesOf(plan), [" from 2"]);
});

test("[SY90] a sink has an exchange of its own where sources or sinks are placed", () => {
  const placed = `CREATE SINK there TYPE Void SET('w1' AS "SINK".HOST); SELECT * FROM s INTO there;`;
  assert.deepEqual(exchangesOf(insertExchanges(planOf(placed))), [" from 2"]);
  assert.deepEqual(exchangesOf(insertExchanges(planOf("SELECT * FROM s INTO nowhere;"))), []);
});

test("[SY91] filters and projections run where their source is", () => {
  const plan = insertExchanges(planOf("SELECT k + 1 AS k1 FROM s WHERE v > 3 INTO out;"));
  const stages = cutPlan(plan);
  assert.equal(stages.length, 3);
  const sources = stages.filter(({ nodes }) => nodes.some(({ op }) => op.kind === "source"));
  assert.equal(sources.length, 2);
  for (const { nodes } of sources) {
    const kinds = nodes.map(({ op }) => op.kind);
    assert.ok(kinds.includes("filter") && kinds.includes("project"), kinds.join(" "));
  }
});

test("[SY93] an aggregation is split in front of its exchange, where that is exact", () => {
  const kindsOf = (query: string): string[] =>
    insertExchanges(planOf(query)).nodes.map(({ op }) => op.kind);
  const grouped = "FROM s GROUP BY k WINDOW TUMBLING(ts, SIZE 1 SEC) INTO nowhere";
  const split = kindsOf(`SELECT k, COUNT(*) AS n, SUM(j) AS t ${grouped};`);
  assert.equal(split.filter((kind) => kind === "partialAggregate").length, 2);
  assert.ok(!kindsOf(`SELECT k, AVG(v) AS n ${grouped};`).includes("partialAggregate"));
});

const perKey = "SELECT k, COUNT(*) AS n, start FROM s GROUP BY k WINDOW TUMBLING(ts, SIZE 1 SEC)";
const joinedWith = (right: string, on: string): string =>
  `SELECT k, n, most FROM (SELECT k, n, start AS s1 FROM (${perKey})) JOIN (${right}) ON ${on}
    WINDOW TUMBLING(s1, s2, SIZE 1 SEC) INTO out;`;
const stacked = "WINDOW TUMBLING(start, SIZE 1 SEC)";

for (const [name, query] of Object.entries({
  "a join of groups with a window over them without keys": joinedWith(
    `SELECT MAX(k) AS top, MAX(n) AS most, start AS s2 FROM (${perKey}) ${stacked}`,
    "k = top",
  ),
  "a join of groups with groups of them": joinedWith(
    `SELECT n AS j, MAX(k) AS most, start AS s2 FROM (${perKey}) GROUP BY n ${stacked}`,
    "k = j",
  ),
  "a join of groups with groups of them, by another column": joinedWith(
    `SELECT n AS j, MAX(k) AS most, start AS s2 FROM (${perKey}) GROUP BY n ${stacked}`,
    "k = most",
  ),
  "a union of groups and of groups of them in a sink without an exchange": `
    SELECT k, n, start FROM (${perKey}) UNION ALL
    SELECT n AS k, MAX(k) AS n, start FROM (${perKey}) GROUP BY n ${stacked} INTO nowhere;`,
})) {
  test(`[SY95] no part of a plan waits for itself: ${name}`, () => {
    const stages = cutPlan(insertExchanges(planOf(query)));
    let waiting = stages;
    while (waiting.length > 0) {
      const still = new Set(waiting.flatMap(({ sends }) => sends));
      const next = waiting.filter(({ receives }) => receives.some((id) => still.has(id)));
      assert.ok(next.length < waiting.length, "some parts receive from each other");
      waiting = next;
    }
  });
}

test("[SY94] late rows go to their sink through an exchange, from where they are found", () => {
  const plan = (aggregate: string): Plan =>
    insertExchanges(
      planOf(`CREATE SINK late_rows TYPE Void;
        SELECT k, ${aggregate} AS n FROM s GROUP BY k WINDOW TUMBLING(ts, SIZE 1 SEC)
        INTO out SET('side' AS "QUERY".LATE, 'late_rows' AS "QUERY".LATE_SINK);`),
    );
  for (const [aggregate, teller] of [
    ["COUNT(*)", "partialAggregate"],
    ["MEDIAN(v)", "windowAggregate"],
  ] as const) {
    const { nodes, settings } = plan(aggregate);
    const late = nodes[settings.lateSink ?? -1];
    assert.equal(late?.op.kind, "exchange");
    const tellers = nodes.filter(({ op }) => op.kind === teller).map(({ id }) => id);
    assert.ok(tellers.length > 0);
    assert.deepEqual(
      late?.inputs,
      tellers.map((node) => ({ node, shiftMs: 0, isLate: true })),
    );
    const [last] = cutPlan({ ...plan(aggregate) }).slice(-1);
    assert.deepEqual(last?.receives, [settings.lateSink]);
    assert.ok(last?.nodes.some(({ op }) => op.kind === "sink" && op.type === "Void"));
  }
});

test("[SY92] the parts with keys may have instances, those with sources or sinks have one", () => {
  const plan = insertExchanges(
    planOf("SELECT k, SUM(v) AS n FROM s GROUP BY k WINDOW TUMBLING(ts, SIZE 1 SEC) INTO out;"),
  );
  const shapes = cutPlan(plan).map(({ nodes, isParallel, receives, sends }) => ({
    has: nodes.map(({ op }) => op.kind).filter((kind) => kind !== "project" && kind !== "exchange"),
    isParallel,
    receives: receives.length,
    sends: sends.length,
  }));
  assert.deepEqual(shapes, [
    ...["a", "b"].map(() => ({
      has: ["source", "eventTime", "partialAggregate"],
      ...{ isParallel: false, receives: 0, sends: 1 },
    })),
    { has: ["windowAggregate"], isParallel: true, receives: 1, sends: 1 },
    { has: ["sink"], isParallel: false, receives: 1, sends: 0 },
  ]);
});
