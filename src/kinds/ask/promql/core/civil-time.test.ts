import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { civilDate, daysBeforeMonth, formatUtc } from "./civil-time.ts";

const days = fc.integer({ min: -700_000, max: 2_900_000 });

test("dates are those of the runtime's calendar", () => {
  fc.assert(
    fc.property(days, (day) => {
      const date = new Date(day * 86_400_000);
      assert.deepEqual(civilDate(day), {
        year: date.getUTCFullYear(),
        month: date.getUTCMonth() + 1,
        day: date.getUTCDate(),
      });
    }),
  );
});

test("a date is as many days after the first of its month as it says", () => {
  fc.assert(
    fc.property(days, (at) => {
      const { year, month, day } = civilDate(at);
      assert.equal(daysBeforeMonth(year, month) + day - 1, at);
    }),
  );
});

const texts: [number, string][] = [
  [0, "1970-01-01T00:00:00Z"],
  [-1, "1969-12-31T23:59:59Z"],
  [1_709_208_061_999, "2024-02-29T12:01:01Z"],
];
for (const [ms, want] of texts) {
  test(`${ms} ms is ${want}`, () => assert.equal(formatUtc(ms), want));
}
