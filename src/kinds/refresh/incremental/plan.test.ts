import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { SourceSchema } from "./inline.ts";
import { planIncremental } from "./plan.ts";
import { initialSql, refreshSql } from "./refresh-sql.ts";
import { openTestDatabase, type TestDatabase } from "./testing/run-case.ts";

let database: TestDatabase;
before(async () => {
  database = await openTestDatabase();
});
after(() => database.close());

const sources: readonly SourceSchema[] = [
  {
    schema: "main",
    name: "orders",
    columns: [
      { name: "id", type: "BIGINT" },
      { name: "category", type: "VARCHAR" },
      { name: "amount", type: "DECIMAL(10,2)" },
      { name: "weight", type: "DOUBLE" },
      { name: "customer", type: "BIGINT" },
      { name: "tags", type: "VARCHAR[]" },
    ],
  },
  {
    schema: undefined,
    name: "customers",
    columns: [
      { name: "customer", type: "BIGINT" },
      { name: "name", type: "VARCHAR" },
    ],
  },
];
const plan = (definition: string) => planIncremental(definition, sources, database.tool);

const incremental: readonly (readonly [definition: string, strategy: string])[] = [
  ["SELECT id, upper(category) AS c FROM main.orders WHERE main.orders.amount > 1", "rows"],
  ["SELECT * FROM orders JOIN customers USING (customer)", "rows"],
  ["SELECT id, unnest(tags) AS tag FROM orders", "rows"],
  ["SELECT id FROM orders UNION ALL SELECT customer FROM customers ORDER BY 1", "rows"],
  ["SELECT id, name FROM orders NATURAL LEFT JOIN customers", "keys"],
  [
    "SELECT coalesce(o.customer, c.customer) AS c FROM orders o FULL JOIN customers c ON o.customer = c.customer",
    "keys",
  ],
  [
    "SELECT id FROM orders WHERE customer IN (SELECT customer FROM customers WHERE name = 'a')",
    "keys",
  ],
  [
    "SELECT id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM customers c WHERE c.customer = o.customer)",
    "keys",
  ],
  [
    "SELECT category, sum(amount) AS revenue, count(*) AS n, avg(amount) AS a FROM orders GROUP BY category",
    "merge",
  ],
  ["SELECT sum(amount), max(id) FROM orders", "merge"],
  [
    "SELECT name, sum(amount) FROM orders LEFT JOIN customers USING (customer) GROUP BY ALL",
    "merge",
  ],
  ["SELECT DISTINCT category FROM orders", "merge"],
  ["SELECT category FROM orders UNION SELECT name FROM customers", "merge"],
  ["SELECT category, sum(weight) FROM orders GROUP BY category", "keys"],
  ["SELECT category, count(DISTINCT customer) FROM orders GROUP BY category", "keys"],
  ["SELECT category, count(*) FROM orders GROUP BY category HAVING count(*) > 1", "keys"],
  [
    "SELECT *, rank() OVER (PARTITION BY category ORDER BY amount) AS r FROM orders QUALIFY r = 1",
    "keys",
  ],
  [
    "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY customer ORDER BY id) AS n FROM orders) WHERE n = 1",
    "keys",
  ],
  [
    "WITH t AS (SELECT customer, sum(amount) AS s FROM orders GROUP BY 1) SELECT name, s FROM t JOIN customers USING (customer)",
    "keys",
  ],
  ["SELECT customer FROM orders EXCEPT SELECT customer FROM customers", "keys"],
  ["SELECT category AS c, c || '!' AS d FROM orders WHERE c <> 'x'", "rows"],
];
for (const [definition, strategy] of incremental) {
  test(`[TI3] incremental by ${strategy}: ${definition}`, async () => {
    const planned = await plan(definition);
    assert.equal(planned.kind, "incremental", planned.reason);
    assert.equal(planned.kind === "incremental" && planned.strategy, strategy);
  });
}

const full: readonly (readonly [definition: string, reason: RegExp])[] = [
  ["SELECT id FROM orders ORDER BY id LIMIT 3", /LIMIT/],
  ["SELECT id, random() FROM orders", /random\(\)/],
  ["SELECT id FROM orders WHERE now() > TIMESTAMP '2020-01-01'", /now\(\)/],
  ["SELECT id FROM orders USING SAMPLE 10", /sample/],
  ["SELECT id FROM orders, unnest([1, 2])", /unnest/],
  ["SELECT id, (SELECT max(customer) FROM customers) FROM orders", /subquery/],
  ["SELECT id FROM orders WHERE customer NOT IN (SELECT customer FROM customers)", /NOT IN/],
  [
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT id FROM orders JOIN r ON id = n",
    /recursive/,
  ],
  [
    "SELECT category, customer, count(*) FROM orders GROUP BY ROLLUP (category, customer)",
    /ROLLUP/,
  ],
  ["SELECT id, row_number() OVER (ORDER BY id) FROM orders", /without PARTITION BY/],
  [
    "SELECT rank() OVER (PARTITION BY category ORDER BY id), rank() OVER (PARTITION BY customer ORDER BY id) FROM orders",
    /share no PARTITION BY/,
  ],
  [
    "SELECT * FROM orders o LEFT JOIN customers c ON o.customer < c.customer",
    /without an equality/,
  ],
  ["SELECT * FROM orders o ASOF JOIN customers c ON o.customer >= c.customer", /ASOF/i],
  ["SELECT DISTINCT ON (category) id FROM orders", /DISTINCT ON/],
  [
    "SELECT v, count(*) FROM (SELECT category, any_value(name) AS v FROM orders JOIN customers USING (customer) GROUP BY 1) GROUP BY 1",
    /any_value\(\) depends on the order/,
  ],
  [
    "SELECT s, count(*) FROM (SELECT category, sum(weight) AS s FROM orders GROUP BY 1) GROUP BY 1",
    /rounded/,
  ],
  ["SELECT list_transform(tags, x -> upper(x)) FROM orders", /lambda/],
  ["SELECT id AS _rid_1 FROM orders", /_rid_1/],
  ["SELECT id FROM orders AT (VERSION => 3)", /moment/],
  ["SELECT 1 AS one", /no source/],
  ["SELECT geomean(id) FROM orders", /geomean/],
  ["SELECT category COLLATE NOCASE AS c, count(*) FROM orders GROUP BY 1", /COLLATE/],
  ["SELECT id, age(TIMESTAMP '2020-01-01') FROM orders", /age\(\)/],
  ["SELECT id * INTERVAL 1 DAY AS i, count(*) FROM orders GROUP BY 1", /INTERVAL/],
  ['SELECT "o o".* FROM orders AS "o o"', /write it down/],
];
for (const [definition, reason] of full) {
  test(`[TI4] full, with the reason: ${definition}`, async () => {
    const planned = await plan(definition);
    assert.equal(planned.kind, "full");
    assert.match(planned.reason, reason);
  });
}

test("[TI4] PIVOT is full", async () => {
  const planned = await plan("PIVOT orders ON category USING sum(amount)");
  assert.equal(planned.kind, "full");
});

test("[TI5] a definition that does not parse or bind is an error", async () => {
  for (const definition of ["SELEC 1", "SELECT nothing FROM orders"]) {
    await assert.rejects(
      plan(definition),
      (thrown) => thrown instanceof OperatingError && thrown.code === "bad_sql",
    );
  }
});

test("[TI6] a plan is data: it can be stored and read again", async () => {
  const planned = await plan("SELECT category, sum(amount) AS s FROM orders GROUP BY category");
  assert.ok(planned.kind === "incremental");
  assert.deepEqual(planned.columns, [
    { name: "category", type: "VARCHAR" },
    { name: "s", type: "DECIMAL(38,2)" },
  ]);
  const stored = JSON.parse(JSON.stringify(planned)) as typeof planned;
  const names = {
    source: (source: number, rows: string) => `s${source}_${rows}`,
    stored: "stored",
    storedKey: ["_row_id"],
    temporary: (name: string) => name,
  };
  assert.equal(initialSql(stored, names), initialSql(planned, names));
  const facts = { changes: [{ added: 1, removed: 1 }] };
  assert.deepEqual(refreshSql(stored, names, facts), refreshSql(planned, names, facts));
});

test("[TI7] minima are merged while rows only come, and computed again otherwise", async () => {
  const planned = await plan("SELECT category, min(amount) FROM orders GROUP BY category");
  assert.ok(planned.kind === "incremental");
  const names = {
    source: (source: number, rows: string) => `s${source}_${rows}`,
    stored: "stored",
    storedKey: ["_row_id"],
    temporary: (name: string) => name,
  };
  const way = (removed: number) =>
    refreshSql(planned, names, { changes: [{ added: 1, removed }] }).way;
  assert.equal(way(0), "merge");
  assert.equal(way(1), "keys");
});
