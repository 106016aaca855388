import assert from "node:assert/strict";
import { test } from "node:test";
import { formatUtc } from "./format-utc.ts";

const texts: [number, string][] = [
  [0, "1970-01-01T00:00:00Z"],
  [-1, "1969-12-31T23:59:59Z"],
  [1_709_208_061_999, "2024-02-29T12:01:01Z"],
];
for (const [ms, want] of texts) {
  test(`${ms} ms is ${want}`, () => assert.equal(formatUtc(ms), want));
}
