import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type GraphNode, layOutGraph } from "./graph-layout.ts";

const size = { width: 200, height: 50, gapX: 80, gapY: 14 };

test("[WEB40] a chain goes from left to right, on one line", () => {
  const { nodes, edges, width, height } = layOutGraph(
    [
      { id: "b", sources: ["a"] },
      { id: "c", sources: ["b"] },
      { id: "a", sources: [] },
    ],
    size,
  );
  assert.deepEqual(nodes, [
    { id: "a", level: 0, x: 0, y: 0 },
    { id: "b", level: 1, x: 280, y: 0 },
    { id: "c", level: 2, x: 560, y: 0 },
  ]);
  assert.deepEqual(edges[0]?.points, [
    { x: 200, y: 25 },
    { x: 280, y: 25 },
  ]);
  assert.deepEqual([width, height], [760, 50]);
});

test("[WEB40] an edge over a level passes beside the nodes there", () => {
  const { nodes, edges } = layOutGraph(
    [
      { id: "a", sources: [] },
      { id: "b", sources: ["a"] },
      { id: "c", sources: ["a", "b"] },
    ],
    size,
  );
  const b = nodes.find(({ id }) => id === "b");
  const long = edges.find(({ from, to }) => from === "a" && to === "c");
  assert.equal(long?.points.length, 4);
  const laneY = long?.points[1]?.y ?? 0;
  assert.ok(laneY < (b?.y ?? 0) || laneY > (b?.y ?? 0) + size.height, `${laneY}`);
});

test("[WEB40] two pairs that could cross do not", () => {
  const { nodes } = layOutGraph(
    [
      { id: "a", sources: [] },
      { id: "b", sources: [] },
      { id: "x", sources: ["b"] },
      { id: "y", sources: ["a"] },
    ],
    size,
  );
  const y = (id: string): number => nodes.find((node) => node.id === id)?.y ?? 0;
  assert.equal(y("a") < y("b"), y("y") < y("x"));
});

const anyGraph = fc
  .array(fc.array(fc.nat(30), { maxLength: 4 }), { maxLength: 40 })
  .map((all): readonly GraphNode[] =>
    all.map((sources, index) => ({
      id: `t${index}`,
      sources: [...new Set(sources.filter((source) => source < index))].map((at) => `t${at}`),
    })),
  );

test("[WEB40] nodes never overlap, sources are to the left, and order of arrival does not matter", () => {
  fc.assert(
    fc.property(anyGraph, (graph) => {
      const layout = layOutGraph(graph, size);
      assert.equal(layout.nodes.length, graph.length);
      const at = new Map(layout.nodes.map((node) => [node.id, node]));
      for (const { id, sources } of graph) {
        for (const source of sources) {
          assert.ok((at.get(source)?.x ?? 0) < (at.get(id)?.x ?? 0));
        }
      }
      for (const one of layout.nodes) {
        assert.ok(one.y >= 0 && one.y + size.height <= layout.height + 1e-6);
        for (const other of layout.nodes) {
          if (one === other || one.level !== other.level) continue;
          assert.ok(Math.abs(one.y - other.y) >= size.height + size.gapY - 1e-6);
        }
      }
      assert.deepEqual(layOutGraph(graph.toReversed(), size), {
        ...layout,
        edges: layout.edges,
      });
    }),
    { numRuns: 200 },
  );
});
