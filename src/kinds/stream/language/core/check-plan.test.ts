import assert from "node:assert/strict";
import { test } from "node:test";
import { hashPlan, planFromJson, planToJson } from "./check-plan.ts";
import type { Plan } from "./plan.ts";
import { errorOf, examplePlan } from "./testing.ts";

const text =
  "SELECT auction, AVG(price) AS a FROM bids WHERE price > 1 GROUP BY auction WINDOW TUMBLING(ts, SIZE 1 SEC) INTO Void()";
const plan = examplePlan(text);

test("[SY44] a plan is the same after a way through JSON", () => {
  const copy = planFromJson(planToJson(plan));
  assert.equal(planToJson(copy), planToJson(plan));
  assert.equal(hashPlan(copy), hashPlan(plan));
});

const broken: readonly (readonly [string, (plan: Plan) => unknown])[] = [
  ["another version", (one) => ({ ...one, version: 99 })],
  ["no nodes", () => ({ version: 1 })],
  ["an input that comes later", (one) => withNode(one, 1, { inputs: [{ node: 5, shiftMs: 0 }] })],
  [
    "a column that is not there",
    (one) => withNode(one, 1, { op: { kind: "eventTime", column: 9, boundMs: 0 } }),
  ],
  ["a schema that is too narrow", (one) => withNode(one, 1, { schema: [] })],
];
for (const [name, breakIt] of broken) {
  test(`[SY44] ${name} is refused`, () => {
    assert.equal(errorOf(() => planFromJson(JSON.stringify(breakIt(plan)))).number, 2002);
  });
}

test("[SY44] text that is no JSON is refused", () => {
  assert.equal(errorOf(() => planFromJson("{")).number, 2002);
});

test("[SY45] the hash depends on what is computed, not on settings beside it", () => {
  const hash = hashPlan(plan);
  assert.match(hash, /^[0-9a-f]{16}$/);
  const other = examplePlan(text.replace("price > 1", "price > 2"));
  assert.notEqual(hashPlan(other), hash);
  const parallel = examplePlan(`${text} SET(4 AS "QUERY".PARALLELISM)`);
  assert.equal(hashPlan(parallel), hash);
  assert.equal(parallel.settings.parallelism, 4);
});

function withNode(one: Plan, id: number, change: object): unknown {
  return {
    ...one,
    nodes: one.nodes.map((node) => (node.id === id ? { ...node, ...change } : node)),
  };
}
