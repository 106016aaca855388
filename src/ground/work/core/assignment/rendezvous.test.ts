import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { WorkerId } from "../../../kernel/ids.ts";
import { affinityScore, hashText, rankWorkers, rendezvous } from "./rendezvous.ts";
import { workerId } from "./testing/samples.ts";

const workerNames = fc.uniqueArray(fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,12}$/).map(workerId), {
  minLength: 1,
  maxLength: 12,
});
const keys = fc.array(fc.string(), { minLength: 1, maxLength: 50 });

function fleet(count: number, prefix = "worker-"): WorkerId[] {
  return Array.from({ length: count }, (_, index) => workerId(`${prefix}${index}`));
}

test("[WC1] without workers there is no choice", () => {
  assert.equal(rendezvous("key", []), undefined);
  assert.deepEqual(rankWorkers("key", []), []);
});

test("[WC1] the choice is the first of the ranking, whatever the order of the workers", () => {
  fc.assert(
    fc.property(fc.string(), workerNames, (key, workers) => {
      const ranked = rankWorkers(key, workers);
      assert.equal(rendezvous(key, workers), ranked[0]);
      assert.deepEqual(rankWorkers(key, workers.toReversed()), ranked);
      assert.deepEqual(ranked.toSorted(), workers.toSorted());
    }),
  );
});

test("[WC2] removing a worker remaps only its share", () => {
  fc.assert(
    fc.property(keys, workerNames, fc.nat(), (someKeys, workers, pick) => {
      const removed = workers[pick % workers.length];
      const rest = workers.filter((worker) => worker !== removed);
      for (const key of someKeys) {
        const before = rendezvous(key, workers);
        const after = rendezvous(key, rest);
        if (before !== removed) assert.equal(after, before);
        else assert.equal(after, rankWorkers(key, workers)[1]);
      }
    }),
  );
});

test("[WC2] adding a worker takes only its share", () => {
  fc.assert(
    fc.property(keys, workerNames, (someKeys, workers) => {
      const added = workerId("the-new-worker");
      for (const key of someKeys) {
        const after = rendezvous(key, [...workers, added]);
        if (after !== added) assert.equal(after, rendezvous(key, workers));
      }
    }),
  );
});

const balanceCases = [
  { name: "numbered workers and keys", prefix: "worker-", key: (n: number) => `segment-${n}` },
  {
    name: "long common prefixes",
    prefix: "capstan-worker-statefulset-",
    key: (n: number) => `${"tenant/metric/".repeat(8)}${n}`,
  },
  {
    name: "keys that differ in one early character",
    prefix: "w",
    key: (n: number) => `${String.fromCharCode(33 + n)}-shard`,
  },
];
for (const { name, prefix, key } of balanceCases) {
  test(`[WC3] shares are even: ${name}`, () => {
    const workers = fleet(20, prefix);
    const counts = new Map(workers.map((worker) => [worker, 0]));
    const keyCount = 20_000;
    for (let index = 0; index < keyCount; index += 1) {
      const chosen = rendezvous(key(index), workers);
      assert(chosen !== undefined);
      counts.set(chosen, (counts.get(chosen) ?? 0) + 1);
    }
    const expected = keyCount / workers.length;
    let chiSquare = 0;
    for (const count of counts.values()) chiSquare += (count - expected) ** 2 / expected;
    // 19 degrees of freedom: a uniform choice exceeds 43.8 once in a thousand times.
    assert(chiSquare < 43.8, `chi-square ${chiSquare}: ${[...counts.values()].join(" ")}`);
  });
}

test("[WC3] the second choice is even as well, so that a lost worker's share spreads over all others", () => {
  const workers = fleet(10);
  const lost = workers[3];
  const counts = new Map<WorkerId, number>();
  let lostCount = 0;
  for (let index = 0; index < 30_000; index += 1) {
    const [first, second] = rankWorkers(`segment-${index}`, workers);
    if (first !== lost || second === undefined) continue;
    lostCount += 1;
    counts.set(second, (counts.get(second) ?? 0) + 1);
  }
  const expected = lostCount / 9;
  let chiSquare = 0;
  for (const count of counts.values()) chiSquare += (count - expected) ** 2 / expected;
  assert.equal(counts.size, 9);
  assert(chiSquare < 26.1, `chi-square ${chiSquare}`); // 8 degrees of freedom, one in a thousand.
});

test("[WC3] two workers split keys evenly, for any pair of names", () => {
  for (let pair = 0; pair < 50; pair += 1) {
    const workers = [workerId(`a${pair}`), workerId(`b${pair * 7}`)];
    let firstCount = 0;
    for (let index = 0; index < 2_000; index += 1) {
      if (rendezvous(`k${index}`, workers) === workers[0]) firstCount += 1;
    }
    assert(Math.abs(firstCount - 1_000) < 125, `${workers}: ${firstCount} of 2000`); // 5.6 sigma.
  }
});

test("[WC3] a hundred thousand texts have distinct hashes and scores", () => {
  const worker = hashText("worker-1");
  const hashes = new Set<string>();
  const scores = new Set<number>();
  for (let index = 0; index < 100_000; index += 1) {
    const hash = hashText(`segment/${index}`);
    hashes.add(`${hash.high}:${hash.low}`);
    const score = affinityScore(hash, worker);
    assert(Number.isSafeInteger(score) && score >= 0);
    scores.add(score);
  }
  assert.equal(hashes.size, 100_000);
  assert.equal(scores.size, 100_000);
});

test("[WC1] the choice is the same in every version, so that caches stay warm over an upgrade", () => {
  const workers = fleet(5);
  const chosen = ["a", "b", "segment-1", "segment-2", ""].map((key) => rendezvous(key, workers));
  assert.deepEqual(chosen, ["worker-2", "worker-3", "worker-1", "worker-4", "worker-0"]);
});
