import assert from "node:assert/strict";
import { test } from "node:test";
import { makeHistogram } from "../../histogram/testing/histograms.ts";
import { precedesNaturally } from "./natural-order.ts";
import { call, series } from "./testing/call.ts";

const vector = [
  series({ __name__: "m", node: "node10", zone: "b" }, 2),
  series({ __name__: "m", node: "node9", zone: "b" }, Number.NaN),
  series({ __name__: "m", node: "node1", zone: "a" }, 3),
  series({ __name__: "m", node: "node2", zone: "a" }, 1),
];
const histogram = series({ __name__: "h" }, makeHistogram({ positiveBuckets: [1] }));

const orders: { name: string; labels?: string[]; want: string[] }[] = [
  { name: "sort", want: ["node2", "node10", "node1", "node9"] },
  { name: "sort_desc", want: ["node1", "node10", "node2", "node9"] },
  { name: "sort_by_label", labels: ["node"], want: ["node1", "node2", "node9", "node10"] },
  { name: "sort_by_label_desc", labels: ["node"], want: ["node10", "node9", "node2", "node1"] },
  { name: "sort_by_label", labels: ["zone", "node"], want: ["node1", "node2", "node9", "node10"] },
  { name: "sort_by_label", labels: ["zone"], want: ["node1", "node2", "node10", "node9"] },
  { name: "sort_by_label_desc", labels: ["zone"], want: ["node9", "node10", "node2", "node1"] },
];
for (const { name, labels = [], want } of orders) {
  test(`[HG15] ${name}(${labels})`, () => {
    const { result, notes } = call(name, [vector, ...labels]);
    assert(result.type === "vector");
    assert.deepEqual(
      result.series.map((one) => one.labels.get("node")),
      want,
    );
    assert.deepEqual(notes, []);
    assert.ok(
      result.series.every(({ dropName }) => !dropName),
      "names stay",
    );
  });
}

test("[HG15] by value, histograms are left out; by label they are not", () => {
  assert.equal(call("sort", [[histogram, ...vector]]).lines.length, 4);
  assert.equal(call("sort_by_label", [[histogram, ...vector], "node"]).lines.length, 5);
});

test("[HG15] in a range query there is nothing to sort", () => {
  const { lines, notes } = call(
    "sort_desc",
    [[series({ a: "1" }, 1, 2), series({ a: "2" }, 2, 1)]],
    {
      steps: 2,
    },
  );
  assert.equal(lines.length, 2);
  assert.deepEqual(notes, [
    "warning@call: sort is ineffective for range queries since results are always ordered by labels",
  ]);
});

const naturally: [string, string, boolean][] = [
  ["node2", "node10", true],
  ["node10", "node2", false],
  ["a", "b", true],
  ["", "a", false],
  ["a", "", false],
  ["a", "a1", true],
  ["a1", "a", false],
  ["1a", "a", true],
  ["007", "8", true],
  ["99999999999999999999", "9", false],
  ["99999999999999999999", "99999999999999999998", false],
  ["é2", "é10", true],
];
for (const [a, b, want] of naturally) {
  test(`[HG15] ${JSON.stringify(a)} ${want ? "precedes" : "does not precede"} ${JSON.stringify(b)}`, () => {
    assert.equal(precedesNaturally(a, b), want);
  });
}
