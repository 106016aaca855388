import assert from "node:assert/strict";
import { test } from "node:test";
import { formatGeneral, formatRounded } from "./go-format.ts";

const general: [number, string][] = [
  [0, "0"],
  [-0, "-0"],
  [1, "1"],
  [-2.5, "-2.5"],
  [100_000, "100000"],
  [1_000_000, "1e+06"],
  [123_456_789, "1.23456789e+08"],
  [123_456.789, "123456.789"],
  [0.0001, "0.0001"],
  [0.00001, "1e-05"],
  [1e21, "1e+21"],
  [5e-324, "5e-324"],
  [Number.MAX_VALUE, "1.7976931348623157e+308"],
  [Number.NaN, "NaN"],
  [Number.POSITIVE_INFINITY, "+Inf"],
  [Number.NEGATIVE_INFINITY, "-Inf"],
];
for (const [value, want] of general) {
  test(`%g of ${want}`, () => assert.equal(formatGeneral(value), want));
}

const rounded: [number, string][] = [
  [1.234, "1.2"],
  [1.96, "2"],
  [99.6, "1e+02"],
  [100_000, "1e+05"],
  [0.0001234, "0.00012"],
  [0.00001234, "1.2e-05"],
  [12, "12"],
  [0, "0"],
  [125, "1.2e+02"],
  [135, "1.4e+02"],
  [0.125, "0.12"],
  [126, "1.3e+02"],
  [Number.POSITIVE_INFINITY, "+Inf"],
];
for (const [value, want] of rounded) {
  test(`%.2g of ${value}: ${want}`, () => assert.equal(formatRounded(value, 2), want));
}
