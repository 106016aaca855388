import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { TableId } from "../../../data/lake/core/index.ts";
import { decideReplacementRefusal } from "./decide-replacement.ts";
import { TableGraph } from "./graph.ts";
import { formatTableName } from "./table-name.ts";

function graphOf(edges: Readonly<Record<number, readonly number[]>>): TableGraph {
  return new TableGraph(
    Object.entries(edges).map(([id, sources]) => ({
      tableId: Number(id) as TableId,
      label: `t${id}`,
      sources: sources as TableId[],
    })),
  );
}

const labels = (nodes: readonly { readonly label: string }[]): string[] =>
  nodes.map(({ label }) => label);

// Tables 1 and 2 are plain.
const diamond = graphOf({ 13: [11, 12], 10: [1], 11: [10, 2], 12: [10], 20: [2] });

test("[TG2] upstream and downstream, sources before their readers, plain tables not among them", () => {
  assert.deepEqual(labels(diamond.inOrder), ["t10", "t20", "t11", "t12", "t13"]);
  assert.deepEqual(labels(diamond.upstreamOf(13 as TableId)), ["t10", "t11", "t12"]);
  assert.deepEqual(labels(diamond.downstreamOf(10 as TableId)), ["t11", "t12", "t13"]);
  assert.deepEqual(labels(diamond.downstreamOf(2 as TableId)), ["t20", "t11", "t13"]);
  assert.deepEqual(labels(diamond.readersOf(2 as TableId)), ["t11", "t20"]);
  assert.deepEqual(labels(diamond.componentOf(12 as TableId)), ["t10", "t11", "t12", "t13"]);
  assert.deepEqual(labels(diamond.componentOf(20 as TableId)), ["t20"]);
});

test("[TG2] a cycle is found before it is there, with the way along it", () => {
  assert.deepEqual(diamond.findCycle(10 as TableId, [13 as TableId]), ["t10", "t13", "t11", "t10"]);
  assert.deepEqual(diamond.findCycle(10 as TableId, [10 as TableId]), ["t10", "t10"]);
  assert.equal(diamond.findCycle(13 as TableId, [10 as TableId, 20 as TableId]), undefined);
  assert.equal(diamond.findCycle(99 as TableId, [13 as TableId]), undefined);
});

test("[TG2] whatever the graph: an edge that is not refused leaves an order with sources first", () => {
  const edge = fc.tuple(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 8 }));
  fc.assert(
    fc.property(fc.array(edge, { maxLength: 24 }), (wanted) => {
      const edges: Record<number, number[]> = {};
      for (let id = 1; id <= 8; id += 1) edges[id] = [];
      for (const [from, to] of wanted) {
        if (graphOf(edges).findCycle(from as TableId, [to as TableId]) !== undefined) continue;
        edges[from]?.push(to);
      }
      const order = labels(graphOf(edges).inOrder);
      for (const [id, sources] of Object.entries(edges)) {
        for (const source of sources) {
          assert.ok(
            order.indexOf(`t${source}`) < order.indexOf(`t${id}`),
            `${source} before ${id}`,
          );
        }
      }
    }),
  );
});

test("[TG1] names are one text each, and different ones for different tables", () => {
  assert.equal(formatTableName("main", "revenue"), "revenue");
  assert.equal(formatTableName("sales", "revenue"), "sales.revenue");
  assert.equal(formatTableName("main", "sales.revenue"), '"sales.revenue"');
  assert.equal(formatTableName("a b", 'c"d'), '"a b"."c""d"');
  const part = fc.string({ minLength: 1, maxLength: 4, unit: fc.constantFrom("a", ".", '"', " ") });
  fc.assert(
    fc.property(part, part, part, part, (schema, name, otherSchema, otherName) => {
      const isSame = schema === otherSchema && name === otherName;
      const texts = [formatTableName(schema, name), formatTableName(otherSchema, otherName)];
      assert.equal(texts[0] === texts[1], isSame);
    }),
  );
});

test("[TG4] nobody reads it: any columns will do", () => {
  assert.equal(decideReplacementRefusal("t", [{ name: "a", type: "BIGINT" }], [], []), undefined);
});
