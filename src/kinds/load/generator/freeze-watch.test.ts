import assert from "node:assert/strict";
import { test } from "node:test";
import { FreezeWatch } from "./freeze-watch.ts";

/** MEASUREMENT lasts from 1,000 to 9,000 ms; the freeze is noted before the phases are cut. */
const cases = [
  { name: "within the phase", freeze: [2_000, 4_500], frozenMs: 2_500 },
  { name: "before it", freeze: [0, 900], frozenMs: 0 },
  { name: "into it", freeze: [500, 3_000], frozenMs: 2_000 },
  { name: "out of it", freeze: [8_000, 12_000], frozenMs: 1_000 },
  { name: "through all of it", freeze: [500, 12_000], frozenMs: 8_000 },
  { name: "too short to matter", freeze: [2_000, 2_499], frozenMs: 0 },
] as const;
for (const { name, freeze, frozenMs } of cases) {
  test(`[SI6] a freeze counts as far as it lies in MEASUREMENT: ${name}`, () => {
    const [fromMs, toMs] = freeze;
    const watch = new FreezeWatch(false);
    const sleep = (): void => watch.slept(fromMs - 30, fromMs, toMs);
    if (fromMs < 1_000) sleep();
    watch.enter(1_000, true);
    if (fromMs >= 1_000) sleep();
    watch.enter(9_000, false);
    assert.equal(watch.figures().frozen_ms, frozenMs);
  });
}

test("[SI6] a machine that slept counts while something is measured", () => {
  const watch = new FreezeWatch(false);
  watch.suspended(60_000);
  watch.enter(0, true);
  watch.suspended(400);
  assert.equal(watch.figures().frozen_ms, 0);
  watch.suspended(3_600_000);
  assert.equal(watch.figures().frozen_ms, 3_600_000);
});
