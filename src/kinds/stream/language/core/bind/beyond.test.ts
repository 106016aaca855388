import assert from "node:assert/strict";
import { test } from "node:test";
import { checkPlan } from "../check-plan.ts";
import type { PlanOp } from "../plan.ts";
import { errorOf, examplePlan, resultOf } from "../testing.ts";

function opOf<K extends PlanOp["kind"]>(
  text: string,
  kind: K,
): Extract<PlanOp, { readonly kind: K }> {
  const plan = examplePlan(`${text} INTO Void()`);
  checkPlan(plan);
  const found = plan.nodes.find(({ op }) => op.kind === kind);
  assert.ok(found, `there is a ${kind}`);
  return found.op as Extract<PlanOp, { readonly kind: K }>;
}

test("[SY50] sessions", () => {
  const op = opOf(
    "SELECT auction, COUNT(*) AS c FROM bids GROUP BY auction WINDOW SESSION(ts, GAP 10 SEC)",
    "windowAggregate",
  );
  assert.deepEqual(op.window, { kind: "session", gapMs: 10_000 });
});

const interval = "SELECT price, cost FROM bids a JOIN asks b ON a.auction = b.item AND ";
const intervals = [
  ["b.at BETWEEN a.ts - 5 SEC AND a.ts + 1 SEC", -5000, 1000],
  ["a.ts BETWEEN b.at - 5 SEC AND b.at + 1 SEC", -1000, 5000],
  ["b.at >= a.ts AND b.at < a.ts + 10 SEC", 0, 9999],
  ["a.ts + 100 > b.at AND b.at > a.ts", 1, 99],
] as const;
for (const [condition, lowerMs, upperMs] of intervals) {
  test(`[SY51] an interval join: ${condition}`, () => {
    const op = opOf(interval + condition, "intervalJoin");
    assert.deepEqual([op.lowerMs, op.upperMs, op.keys.length], [lowerMs, upperMs, 1]);
  });
}

test("[SY51] an interval needs both bounds, and an inner join", () => {
  const half = `${interval}b.at >= a.ts`;
  assert.equal(errorOf(() => resultOf(half)).number, 2000);
  const outer = `${interval}b.at BETWEEN a.ts AND a.ts + 1 SEC`.replace(" JOIN", " LEFT JOIN");
  assert.equal(errorOf(() => resultOf(outer)).number, 2000);
});

test("[SY52] a lookup join has the table's columns", () => {
  const text = "SELECT price, c.city FROM bids LEFT JOIN TABLE customers c ON auction = c.id";
  const op = opOf(text, "lookupJoin");
  assert.equal(op.table, "customers");
  assert.equal(resultOf(text), "price FLOAT64?, city VARSIZED?");
  for (const [wrong, number] of [
    ["SELECT ts FROM bids JOIN TABLE nosuch ON auction = id", 2030],
    ["SELECT ts FROM bids JOIN TABLE customers ON auction > id", 2000],
    ["SELECT ts FROM bids FULL JOIN TABLE customers ON auction = id", 2008],
  ] as const) {
    assert.equal(errorOf(() => resultOf(wrong)).number, number);
  }
});

test("[SY52] a window behind a lookup join is the query's", () => {
  const text =
    "SELECT city, COUNT(*) AS c FROM bids JOIN TABLE customers ON auction = id WINDOW TUMBLING(ts, SIZE 1 SEC) GROUP BY city";
  assert.equal(resultOf(text), "city VARSIZED?, c UINT64");
  opOf(text, "eventTime");
});

const qualify = "QUALIFY ROW_NUMBER() OVER (PARTITION BY start ORDER BY COUNT(*) DESC) <= 3";
const window = "WINDOW TUMBLING(ts, SIZE 1 SEC)";

test("[SY53] the first rows of a window, by aggregates and names of the list", () => {
  const text = `SELECT auction, COUNT(*) AS c FROM bids GROUP BY auction ${window}`;
  for (const clause of [qualify, qualify.replace("COUNT(*)", "c").replace("<= 3", "< 4")]) {
    const op = opOf(`${text} ${clause}`, "topN");
    assert.deepEqual([op.limit, op.order.map(({ descending }) => descending)], [3, [true]]);
  }
});

test("[SY53] the first rows of a window below", () => {
  const inner = `SELECT start, end, auction, COUNT(*) AS c FROM bids GROUP BY auction ${window}`;
  const op = opOf(`SELECT auction FROM (${inner}) ${qualify.replace("COUNT(*)", "c")}`, "topN");
  assert.deepEqual([op.start, op.end], [0, 1]);
});

test("[SY53] the first rows as they are", () => {
  const text = `SELECT start, price FROM bids ${window} QUALIFY ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) <= 10`;
  assert.equal(resultOf(text), "start UINT64, price FLOAT64?");
  assert.equal(opOf(text, "topN").limit, 10);
  opOf(text, "eventTime");
});

test("[SY54] the first row of a key, forgotten after a while", () => {
  const op = opOf(
    "SELECT * FROM bids QUALIFY ROW_NUMBER() OVER (PARTITION BY auction, name ORDER BY ts STATE TTL 1 HOUR) = 1",
    "keyed",
  );
  assert.equal(op.fn.kind, "deduplicate");
  assert.deepEqual([op.keys.length, op.ttlMs], [2, 3_600_000]);
});

test("[SY54] LAG and LAST_VALUE, in expressions and several of them", () => {
  const text =
    "SELECT *, ts - LAG(ts) OVER (PARTITION BY auction ORDER BY ts STATE TTL 1 DAY) AS gap, LAST_VALUE(price) OVER (PARTITION BY auction ORDER BY ts) AS last FROM bids";
  assert.equal(
    resultOf(text),
    "ts UINT64, auction INT32, price FLOAT64?, name VARSIZED?, gap UINT64?, last FLOAT64?",
  );
  const op = opOf(text, "keyed");
  assert.deepEqual([op.fn.kind, op.ttlMs], ["lag", 86_400_000]);
});

test("[SY54] without ORDER BY the time is that of reading", () => {
  const plan = examplePlan(
    "SELECT ts, LAG(ts, 2) OVER (PARTITION BY auction) AS before FROM bids INTO Void()",
  );
  checkPlan(plan);
  const source = plan.nodes.find(({ op }) => op.kind === "source");
  assert.equal(source?.op.kind === "source" && source.op.ingestionTime, true);
});

const refused = [
  ["SELECT ROW_NUMBER() OVER (ORDER BY ts) AS n FROM bids", 2008],
  ["SELECT SUM(price) OVER (PARTITION BY auction) AS s FROM bids", 2008],
  [
    "SELECT ts FROM bids QUALIFY ROW_NUMBER() OVER (PARTITION BY auction ORDER BY ts DESC) = 1",
    2008,
  ],
  ["SELECT ts FROM bids QUALIFY ROW_NUMBER() OVER (PARTITION BY auction) <= 5", 2000],
  ["SELECT ts FROM bids QUALIFY price > 5", 2008],
  ["SELECT LAG(ts, 0) OVER (PARTITION BY auction) AS x FROM bids", 2002],
] as const;
for (const [text, number] of refused) {
  test(`[SY54] ${text} is error ${number}`, () => {
    assert.equal(errorOf(() => resultOf(text)).number, number);
  });
}

test("[SY51] another comparison of both sides in front of the interval changes nothing", () => {
  const text = (on: string): string => `SELECT auction FROM bids JOIN asks ON ${on} INTO Void()`;
  const interval = "at BETWEEN ts - 5 SEC AND ts + 5 SEC";
  for (const on of [`auction < item AND ${interval}`, `${interval} AND auction < item`]) {
    const { nodes } = examplePlan(text(on));
    const join = nodes.find(({ op }) => op.kind === "intervalJoin");
    assert.ok(join?.op.kind === "intervalJoin");
    assert.deepEqual([join.op.lowerMs, join.op.upperMs], [-5_000, 5_000]);
  }
});
