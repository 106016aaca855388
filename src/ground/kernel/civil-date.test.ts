import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { dayOf, daysOfDate, monthOf, packedDate, yearOf } from "./civil-date.ts";

const days = fc.integer({ min: -700_000, max: 2_900_000 });

test("dates are those of the runtime's calendar", () => {
  fc.assert(
    fc.property(days, (day) => {
      const date = new Date(day * 86_400_000);
      const packed = packedDate(day);
      assert.deepEqual(
        [yearOf(packed), monthOf(packed), dayOf(packed)],
        [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()],
      );
    }),
  );
});

test("a date is as many days after 1970 as it was made of, however far away", () => {
  const anywhere = fc.integer({ min: -100_000_000_000_000, max: 100_000_000_000_000 });
  fc.assert(
    fc.property(fc.oneof(days, anywhere), (at) => {
      const packed = packedDate(at);
      assert.equal(daysOfDate(yearOf(packed), monthOf(packed), dayOf(packed)), at);
    }),
  );
});
