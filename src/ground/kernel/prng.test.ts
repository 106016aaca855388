import assert from "node:assert/strict";
import { test } from "node:test";
import { createPrng, type Prng, randomText } from "./prng.ts";

function draw(prng: Prng, count: number): number[] {
  return Array.from({ length: count }, () => prng.below(1_000_000));
}

test("a seed gives the same numbers in every version: a failing seed stays a failing seed", () => {
  assert.deepEqual(draw(createPrng(4711), 5), [609_448, 422_583, 972_892, 18_791, 922_347]);
  assert.deepEqual(draw(createPrng("a seed"), 5), [390_047, 303_047, 690_029, 605_173, 231_607]);
  assert.deepEqual(
    draw(createPrng(4711).fork("network"), 5),
    [532_886, 339_446, 486_742, 851_943, 211_192],
  );
  assert.equal(randomText(createPrng(4711), 20), "lfz0xjcopx6ypjmss9jw");
});

test("a number and its text are one seed", () => {
  assert.deepEqual(draw(createPrng(7), 5), draw(createPrng("7"), 5));
});

test("a fork is decided by seed and name alone, not by what was drawn before", () => {
  const fresh = createPrng(1);
  const used = createPrng(1);
  draw(used, 100);
  draw(used.fork("other"), 100);
  assert.deepEqual(draw(used.fork("a"), 10), draw(fresh.fork("a"), 10));
});

test("drawing from a fork does not disturb its parent", () => {
  const disturbed = createPrng(1);
  draw(disturbed.fork("a"), 100);
  assert.deepEqual(draw(disturbed, 10), draw(createPrng(1), 10));
});

test("forks and neighbouring seeds are unrelated", () => {
  const streams = [
    createPrng(1),
    createPrng(2),
    createPrng(1).fork("a"),
    createPrng(1).fork("b"),
    createPrng(1).fork("a").fork("a"),
  ].map((prng) => Array.from({ length: 4_000 }, () => prng.next()));
  for (const [index, one] of streams.entries()) {
    for (const other of streams.slice(index + 1)) {
      assert(Math.abs(correlation(one, other)) < 0.08); // 5 sigma for 4,000 pairs.
    }
  }
});

test("numbers are in [0, 1), integers below their bound, and both are even", () => {
  const prng = createPrng("even");
  const counts = new Array<number>(10).fill(0);
  let sum = 0;
  for (let index = 0; index < 50_000; index += 1) {
    const value = prng.next();
    assert(0 <= value && value < 1);
    sum += value;
    const digit = prng.below(10);
    assert(Number.isInteger(digit) && 0 <= digit && digit < 10);
    counts[digit] = (counts[digit] ?? 0) + 1;
  }
  assert(Math.abs(sum / 50_000 - 0.5) < 0.007);
  const chiSquare = counts.reduce((total, count) => total + (count - 5_000) ** 2 / 5_000, 0);
  assert(chiSquare < 27.9, `chi-square ${chiSquare}`); // 9 degrees of freedom, one in a thousand.
});

test("random text is of the length and the alphabet", () => {
  assert.match(randomText(createPrng(1), 1_000), /^[0-9a-z]{1000}$/);
  assert.equal(randomText(createPrng(1), 0), "");
});

function correlation(one: readonly number[], other: readonly number[]): number {
  const products = one.reduce(
    (sum, value, index) => sum + (value - 0.5) * ((other[index] ?? 0) - 0.5),
    0,
  );
  return (products / one.length) * 12; // The variance of a uniform number is 1/12.
}
