import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseLag } from "./target-lag.ts";

const good: readonly (readonly [text: string, ms: number])[] = [
  ["90 seconds", 90_000],
  ["1 minute", 60_000],
  ["2 hours", 7_200_000],
  ["500 milliseconds", 500],
  ["1 day 2 hours", 93_600_000],
  ["1 day, 2 hours", 93_600_000],
  ["30s", 30_000],
  ["5m", 300_000],
  [" 1 H ", 3_600_000],
  ["1.5 minutes", 90_000],
  ["0.1 seconds", 100],
  ["1m30s", 90_000],
  ["2 weeks", 1_209_600_000],
  ["365 days", 31_536_000_000],
];
for (const [text, ms] of good) {
  test(`[TD2] '${text}' is ${ms} ms`, () => assert.deepEqual(parseLag(text), { kind: "ms", ms }));
}

const bad: readonly (readonly [text: string, message: RegExp])[] = [
  ["", /a duration is missing/],
  ["30", /'30': 30 of what\? A unit is missing/],
  ["soon", /'soon' is no duration/],
  ["-5 s", /is no duration/],
  ["5 parsecs", /the unit parsecs is not known/],
  ["1 month", /the unit month is not known/],
  ["1 s 2 seconds", /has the unit seconds twice/],
  ["99 ms", /too short: the shortest is 100 milliseconds/],
  ["0 s", /too short/],
  ["366 days", /too long: the longest is 365 days/],
  ["99999999999999999999 days", /too long/],
  ["100.5 ms", /not a whole number of milliseconds/],
  ["1e3 s", /the unit e is not known/],
];
for (const [text, message] of bad) {
  test(`[TD2] '${text}' is refused`, () => {
    const parsed = parseLag(text);
    assert.equal(parsed.kind, "problem");
    assert.match(parsed.kind === "problem" ? parsed.message : "", message);
  });
}

test("[TD2] any number of seconds is itself", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 31_536_000 }), (seconds) => {
      assert.deepEqual(parseLag(`${seconds} seconds`), { kind: "ms", ms: seconds * 1_000 });
    }),
  );
});
