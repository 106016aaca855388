import assert from "node:assert/strict";
import { test } from "node:test";
import { layOutGraph } from "./graph-layout.ts";
import { placeLabels } from "./place-labels.ts";

const size = { width: 100, height: 40, gapX: 100, gapY: 20 };

test("[WEB75] the label of a single edge is in its middle", () => {
  const layout = layOutGraph(
    [
      { id: "a", sources: [] },
      { id: "b", sources: ["a"] },
    ],
    size,
  );
  assert.deepEqual(placeLabels(layout), [{ from: "a", to: "b", x: 150, y: 20 }]);
});

test("[WEB75] labels of edges that cross stand apart from each other", () => {
  const layout = layOutGraph(
    [
      { id: "a", sources: [] },
      { id: "b", sources: [] },
      { id: "c", sources: ["a", "b"] },
      { id: "d", sources: ["a", "b"] },
    ],
    size,
  );
  const labels = placeLabels(layout);
  assert.equal(labels.length, 4);
  for (const [index, one] of labels.entries()) {
    assert.ok(one.x > 100 && one.x < 200, `${one.from} to ${one.to}: ${one.x}`);
    for (const other of labels.slice(index + 1)) {
      assert.ok(Math.hypot(one.x - other.x, one.y - other.y) > 15, JSON.stringify([one, other]));
    }
  }
});
