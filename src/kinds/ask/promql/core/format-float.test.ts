import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatFixed, formatFloat } from "./format-float.ts";

const cases = [
  [0, "0"],
  [-0, "-0"],
  [1, "1"],
  [-1.5, "-1.5"],
  [0.1, "0.1"],
  [123456, "123456"],
  [1234567, "1234567"],
  [1e20, "100000000000000000000"],
  [1e21, "1000000000000000000000"],
  [1.5e22, "15000000000000000000000"],
  [-1e-7, "-0.0000001"],
  [1.25e-5, "0.0000125"],
  [0.0001, "0.0001"],
  [2 ** 53, "9007199254740992"],
  [Number.MAX_VALUE, `17976931348623157${"0".repeat(292)}`],
  [5e-324, `0.${"0".repeat(323)}5`],
  [Number.NaN, "NaN"],
  [Number.POSITIVE_INFINITY, "+Inf"],
  [Number.NEGATIVE_INFINITY, "-Inf"],
] as const;
for (const [value, text] of cases) {
  test(`[PQ18] ${Object.is(value, -0) ? "-0" : value} is ${text.length > 30 ? "long" : text}`, () => {
    assert.equal(formatFloat(value), text);
  });
}

test("[PQ18] a formatted number is the same number, without an exponent", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      const text = formatFloat(value);
      assert.match(text, /^-?\d+(\.\d+)?$/);
      assert.ok(Object.is(Number(text), value));
    }),
    { numRuns: 1000 },
  );
});

test("[PQ18] with fixed decimals", () => {
  assert.equal(formatFixed(1.0005, 3), "1.000");
  assert.equal(formatFixed(1e22, 2), "10000000000000000000000.00");
  assert.equal(formatFixed(Number.NaN, 3), "NaN");
});
