import assert from "node:assert/strict";
import { test } from "node:test";
import { Labels } from "../labels.ts";
import type { Matcher } from "../leaf.ts";
import { compileMatchers, matcherSetKey } from "./matchers.ts";

const up = Labels.of({ __name__: "up", job: "api", instance: "a:1" });

const cases: readonly [name: string, op: Matcher["op"], value: string, want: boolean][] = [
  ["job", "=", "api", true],
  ["job", "=", "ap", false],
  ["job", "!=", "web", true],
  ["job", "!=", "api", false],
  ["job", "=~", "a.*|web", true],
  ["job", "=~", "p", false],
  ["job", "!~", "web", true],
  ["job", "!~", "a.+", false],
  ["zone", "=", "", true],
  ["zone", "!=", "", false],
  ["zone", "=~", ".*", true],
  ["zone", "=~", ".+", false],
  ["zone", "!=", "eu", true],
  ["zone", "!~", ".*", false],
];
for (const [name, op, value, want] of cases) {
  test(`[KL12] ${name}${op}"${value}" ${want ? "selects" : "leaves out"} a series`, () => {
    assert.equal(compileMatchers([{ name, op, value }])(up), want);
  });
}

test("[KL12] all matchers have to select", () => {
  const both = (value: string): Matcher[] => [
    { name: "job", op: "=~", value: "a.*" },
    { name: "instance", op: "=", value },
  ];
  assert.equal(compileMatchers(both("a:1"))(up), true);
  assert.equal(compileMatchers(both("b:1"))(up), false);
  assert.equal(compileMatchers([])(up), true);
});

test("[KL12] the key of a set does not depend on order, and tells sets apart", () => {
  const a: Matcher = { name: "job", op: "=", value: "api" };
  const b: Matcher = { name: "job", op: "!=", value: "api" };
  assert.equal(matcherSetKey([a, b]), matcherSetKey([b, a, a]));
  const keys = new Set([[a], [b], [a, b], []].map(matcherSetKey));
  assert.equal(keys.size, 4);
  assert.notEqual(
    matcherSetKey([
      { name: "a", op: "=", value: "1" },
      { name: "b", op: "=", value: "2" },
    ]),
    matcherSetKey([{ name: "a", op: "=", value: "11:b=1:2" }]),
  );
});
