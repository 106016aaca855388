import assert from "node:assert/strict";
import { test } from "node:test";
import { layOutGraph } from "./graph-layout.ts";
import { lineageOf, nextNode } from "./lineage.ts";

test("[WEB46] lineage is what a table is made of and what is made of it; arrows follow it", () => {
  const graph = [
    { id: "a", sources: [] },
    { id: "b", sources: [] },
    { id: "c", sources: ["a"] },
    { id: "d", sources: ["b"] },
    { id: "e", sources: ["c", "d"] },
  ];
  const layout = layOutGraph(graph, { width: 100, height: 20, gapX: 20, gapY: 5 });
  assert.deepEqual(lineageOf(layout.edges, "c"), new Set(["a", "c", "e"]));
  const at = (id: string) => {
    const found = layout.nodes.find((node) => node.id === id);
    assert.ok(found !== undefined);
    return found;
  };
  assert.equal(nextNode(layout, at("c"), "ArrowRight"), "e");
  assert.equal(nextNode(layout, at("c"), "ArrowLeft"), "a");
  assert.equal(nextNode(layout, at("c"), "ArrowDown"), "d");
  assert.equal(nextNode(layout, at("c"), "ArrowUp"), undefined);
  assert.equal(nextNode(layout, at("c"), "Enter"), undefined);
});
