/** Shards, spans and affinity. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { stepCount } from "../../promql/core/index.ts";
import { cutGrid, decideCut, defaultCutLimits } from "./decide-cut.ts";
import { shardsOverlap } from "./shards.ts";

const facts = {
  samplesEstimate: 0,
  segmentCount: 1,
  stepCount: 100,
  computeUnits: 4,
  streamed: false,
};
const cuts = [
  { name: "nothing to read", facts, want: [1, 1] },
  { name: "a light query is one work", facts: { ...facts, samplesEstimate: 99_999 }, want: [1, 1] },
  {
    name: "a heavy one uses every unit",
    facts: { ...facts, samplesEstimate: 10_000_000, computeUnits: 2 },
    want: [2, 1],
  },
  {
    name: "from three units on, the cut is the finest, whatever the pool",
    facts: { ...facts, samplesEstimate: 10_000_000, computeUnits: 3 },
    want: [16, 1],
  },
  {
    name: "one that reads less is cut less finely",
    facts: { ...facts, samplesEstimate: 400_000 },
    want: [4, 1],
  },
  {
    name: "a streamed one comes in spans",
    facts: { ...facts, samplesEstimate: 10_000_000, streamed: true },
    want: [16, 4],
  },
  {
    name: "a huge one comes in spans",
    facts: { ...facts, samplesEstimate: 40_000_000 },
    want: [16, 3],
  },
  {
    name: "an instant query is one span",
    facts: { ...facts, samplesEstimate: 40_000_000, stepCount: 1, streamed: true },
    want: [16, 1],
  },
  {
    name: "no more shards than allowed",
    facts: { ...facts, samplesEstimate: 1e9, computeUnits: 100 },
    want: [16, 4],
  },
  { name: "very many segments", facts: { ...facts, segmentCount: 5_000 }, want: [4, 1] },
  {
    name: "no worker yet",
    facts: { ...facts, samplesEstimate: 1e7, computeUnits: 0 },
    want: [1, 1],
  },
];
for (const { name, facts: given, want } of cuts) {
  test(`[QP4] ${name}`, () => {
    const { shardCount, spanCount } = decideCut(given, defaultCutLimits);
    assert.deepEqual([shardCount, spanCount], want);
  });
}

test("[QP4] spans are runs of whole steps that together are the grid", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 5_000 }),
      fc.integer({ min: 1, max: 97 }),
      fc.integer({ min: 1, max: 9 }),
      (length, stepMs, spanCount) => {
        const grid = { startMs: 1_000, endMs: 1_000 + length, stepMs };
        const spans = cutGrid(grid, spanCount);
        assert.equal(
          spans.reduce((sum, span) => sum + stepCount(span), 0),
          stepCount(grid),
        );
        let nextMs = grid.startMs;
        for (const span of spans) {
          assert.equal(span.startMs, nextMs);
          nextMs = span.endMs + stepMs;
        }
      },
    ),
  );
});

test("[QP3] a shard of the query overlaps the shards of a segment that share its series", () => {
  for (const [queryShards, segmentShards] of [
    [4, 4],
    [4, 1],
    [1, 16],
    [2, 8],
    [8, 2],
  ] as const) {
    const bits = 16;
    for (let series = 0; series < bits; series += 1) {
      const a = { shard: Math.floor((series * queryShards) / bits), shardCount: queryShards };
      const b = { shard: Math.floor((series * segmentShards) / bits), shardCount: segmentShards };
      assert.ok(shardsOverlap(a, b), `${series} of ${queryShards} and ${segmentShards}`);
    }
  }
  assert.ok(!shardsOverlap({ shard: 1, shardCount: 4 }, { shard: 2, shardCount: 4 }));
  assert.ok(!shardsOverlap({ shard: 0, shardCount: 2 }, { shard: 4, shardCount: 8 }));
});
