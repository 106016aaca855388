import assert from "node:assert/strict";
import { test } from "node:test";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { createKeyChooser, type KeyDistribution, zeta } from "./key-chooser.ts";

function draw(
  distribution: KeyDistribution,
  min: number,
  max: number,
  times: number,
): Map<number, number> {
  const next = createKeyChooser({ distribution, min, max, theta: 0.99 }, createPrng("keys"));
  const counts = new Map<number, number>();
  for (let nth = 0; nth < times; nth += 1) {
    const key = next();
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

test("[KC1] every distribution stays within its bounds, and reaches all of them", () => {
  for (const distribution of ["uniform", "zipfian", "latest", "sequential"] as const) {
    for (const [min, max] of [
      [1, 1],
      [5, 6],
      [1, 10],
      [-3, 97],
    ] as const) {
      const keys = [...draw(distribution, min, max, 20_000).keys()];
      assert.equal(Math.min(...keys), min, distribution);
      assert.equal(Math.max(...keys), max, distribution);
      assert.equal(keys.length, max - min + 1);
    }
  }
  const huge = createKeyChooser(
    { distribution: "uniform", min: 0, max: 2 ** 40, theta: 0 },
    createPrng(1),
  );
  const keys = Array.from({ length: 1_000 }, huge);
  assert.ok(
    Math.max(...keys) > 2 ** 39 && keys.every((key) => key <= 2 ** 40 && Number.isInteger(key)),
  );
});

test("[KC2] the hottest key has its share, and its neighbours are not hot", () => {
  const times = 200_000;
  const counts = draw("zipfian", 1, 10_000, times);
  const [hottest, second] = [...counts].sort((a, b) => b[1] - a[1]);
  const share = 1 / zeta(10_000, 0.99);
  assert.ok(Math.abs((hottest?.[1] ?? 0) / times / share - 1) < 0.05);
  assert.ok(Math.abs((second?.[1] ?? 0) / times / (share * 0.5 ** 0.99) - 1) < 0.08);
  const neighbour = counts.get((hottest?.[0] ?? 0) + 1) ?? 0;
  assert.ok(neighbour < (hottest?.[1] ?? 0) / 5);
});

test("[KC3] the newest keys are the hottest", () => {
  const counts = draw("latest", 1, 1_000, 100_000);
  assert.equal([...counts].sort((a, b) => b[1] - a[1])[0]?.[0], 1_000);
});
