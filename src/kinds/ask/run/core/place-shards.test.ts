import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { WorkerId } from "../../../../ground/kernel/ids.ts";
import { decideCut, defaultCutLimits } from "./decide-cut.ts";
import { placeShards } from "./place-shards.ts";

const metricCount = 200;
const slices = 16;
const cuts = [1, 2, 4, 8, 16];

const pool = (count: number): WorkerId[] =>
  Array.from({ length: count }, (_, index) => `worker-${index + 1}` as WorkerId);

const places = (base: string, shards: number, workers: readonly WorkerId[]): WorkerId[] =>
  placeShards(base, shards, workers).map(({ worker }) => worker as WorkerId);

/** The worker of each sixteenth of the series. */
function holders(base: string, shards: number, workers: readonly WorkerId[]): WorkerId[] {
  const placed = places(base, shards, workers);
  return Array.from(
    { length: slices },
    (_, slice) => placed[Math.floor((slice * shards) / slices)] as WorkerId,
  );
}

function shardsOfHeavyQuery(computeUnits: number): number {
  const facts = { samplesEstimate: 1e9, segmentCount: 10, stepCount: 1_440, streamed: false };
  return decideCut({ ...facts, computeUnits }, defaultCutLimits).shardCount;
}

function loadMax(placed: readonly WorkerId[]): number {
  return Math.max(...placed.map((worker) => placed.filter((each) => each === worker).length));
}

test("[QP3] shards spread evenly over any pool, and the same way in every process", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.stringMatching(/^w[a-z0-9]{1,6}$/), { minLength: 1, maxLength: 20 }),
      fc.constantFrom(...cuts),
      fc.string(),
      (names, shardCount, base) => {
        const workers = names as WorkerId[];
        const placed = places(base, shardCount, workers);
        assert.deepEqual(places(base, shardCount, workers.toReversed()), placed);
        const evenShare = Math.ceil(shardCount / workers.length);
        assert.ok(loadMax(placed) <= evenShare + (workers.length > 2 ? 1 : 0), placed.join());
      },
    ),
  );
});

test("[QP3] of two workers each gets half of the shards of every query", () => {
  for (let metric = 0; metric < metricCount; metric += 1) {
    for (const shards of cuts.slice(1)) {
      assert.equal(loadMax(places(`metric m${metric}`, shards, pool(2))), shards / 2);
    }
  }
});

for (const threads of [1, 2, 4]) {
  for (let count = 2; count <= 16; count += 1) {
    const name = `removing one of ${count} workers with threads=${threads} each`;
    test(`[QP15] ${name} moves at most 2/${count} of the series`, () => {
      const all = pool(count);
      const shardsBefore = shardsOfHeavyQuery(count * threads);
      const shardsAfter = shardsOfHeavyQuery((count - 1) * threads);
      let moved = 0;
      for (let metric = 0; metric < metricCount; metric += 1) {
        const base = `metric m${metric}`;
        const rest = all.filter((_, index) => index !== metric % count);
        const before = holders(base, shardsBefore, all);
        const after = holders(base, shardsAfter, rest);
        moved += after.filter((worker, slice) => worker !== before[slice]).length;
      }
      const share = moved / (metricCount * slices);
      assert.ok(share <= 2 / count, `${(100 * share).toFixed(1)} % moved`);
    });
  }
}

test("[QP15] a key has the same worker, however finely a query is cut", () => {
  for (let count = 1; count <= 16; count += 1) {
    for (let metric = 0; metric < 20; metric += 1) {
      const workers = new Map<string, WorkerId | undefined>();
      for (const shards of cuts) {
        for (const { affinityKey, worker } of placeShards(`m${metric}`, shards, pool(count))) {
          if (!workers.has(affinityKey)) workers.set(affinityKey, worker);
          assert.equal(worker, workers.get(affinityKey), `${affinityKey} of ${shards} shards`);
        }
      }
    }
  }
});

test("[QP15] from three threads on, a heavy query has the same shards whatever the pool", () => {
  const counts = Array.from({ length: 62 }, (_, index) => shardsOfHeavyQuery(index + 3));
  assert.deepEqual(new Set(counts), new Set([16]));
});

test("[QP15] a shard's key is that of its place among the series: finer cuts keep it, pools do not matter", () => {
  const keys = (shards: number, workers: number): string[] =>
    placeShards("metric x", shards, pool(workers)).map(({ affinityKey }) => affinityKey);
  const coarse = keys(4, 3);
  const fine = keys(16, 5);
  assert.deepEqual(
    coarse,
    [0, 4, 8, 12].map((shard) => fine[shard]),
  );
  assert.deepEqual(keys(4, 9), coarse);
  assert.equal(new Set(fine).size, 16);
});

test("[QP15] without workers there are keys and no choices", () => {
  const placed = placeShards("metric x", 2, []);
  assert.deepEqual(
    placed.map(({ worker }) => worker),
    [undefined, undefined],
  );
});
