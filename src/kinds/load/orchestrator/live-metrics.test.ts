import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../../ground/kernel/testing/virtual-clock.ts";
import { bookOf, identityOf, snapshotOf } from "../store/testing/load-fixture.ts";
import { testRun } from "../testing/ids.ts";
import { LiveMetrics } from "./live-metrics.ts";

test("[LV1] [LV2] [LV3] the newest of each worker, while it is fresh, and no more workers than fit", async () => {
  const clock = new VirtualClock();
  const live = new LiveMetrics({ clock, workersMax: 2 });
  const book = bookOf();
  const [a, b, c] = [
    identityOf(testRun("r"), 0),
    identityOf(testRun("r"), 1),
    identityOf(testRun("s"), 0),
  ];
  assert.equal(live.accept(snapshotOf(a, 3, book)), true);
  assert.equal(live.accept(snapshotOf(a, 2, book)), false);
  await clock.advance(3_000);
  assert.equal(live.accept(snapshotOf(b, 1, book)), true);
  assert.equal(live.accept(snapshotOf(c, 1, book)), false);
  await clock.advance(2_001);
  assert.deepEqual([...live.fresh(testRun("r")).keys()], ["worker-1"]);
  assert.equal(live.accept(snapshotOf(c, 1, book)), true);
  assert.equal(live.accept(snapshotOf(identityOf(testRun("s"), 0, "two"), 1, book)), true);
});
