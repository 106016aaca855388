import assert from "node:assert/strict";
import { test } from "node:test";
import { createPrng } from "../../../../ground/kernel/prng.ts";
import { fnv64, hashPlan, planFromJson, planToJson } from "./check-plan.ts";
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

test("[SY45] the hash is FNV-1a of 64 bits, for checkpoints that were taken before", () => {
  const prng = createPrng("fnv");
  for (let length = 0; length < 300; length += 1) {
    const bytes = Uint8Array.from({ length }, () => prng.below(256));
    let hash = 0xcbf29ce484222325n;
    for (const byte of bytes) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
    assert.equal(fnv64(bytes), hash.toString(16).padStart(16, "0"));
  }
});

function withNode(one: Plan, id: number, change: object): unknown {
  return {
    ...one,
    nodes: one.nodes.map((node) => (node.id === id ? { ...node, ...change } : node)),
  };
}
