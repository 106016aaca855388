import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatSnapshotTime, parseSnapshotTime } from "./snapshot-time.ts";

test("[LK11] times are what Date says, compare as texts, and come back", () => {
  const time = fc.integer({ min: 0, max: 253_402_300_799_999 });
  fc.assert(
    fc.property(time, time, (a, b) => {
      const text = formatSnapshotTime(a);
      assert.equal(text, new Date(a).toISOString().replace("T", " ").replace("Z", "+00"));
      assert.equal(parseSnapshotTime(text), a);
      assert.equal(
        Math.sign(text < formatSnapshotTime(b) ? -1 : text > formatSnapshotTime(b) ? 1 : 0),
        Math.sign(a - b),
      );
    }),
  );
});

test("[LK11] other writers' digits are read, anything else is not", () => {
  assert.equal(parseSnapshotTime("1970-01-01 00:00:01+00"), 1_000);
  assert.equal(parseSnapshotTime("1970-01-01 00:00:01.5+00:00"), 1_500);
  assert.equal(parseSnapshotTime("1970-01-01 00:00:01.123456+00"), 1_123);
  for (const text of ["", "1970-01-01", "1970-01-01 00:00:01", "1970-01-01 00:00:01+02"]) {
    assert.equal(parseSnapshotTime(text), undefined);
  }
});
