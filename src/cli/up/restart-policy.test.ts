import assert from "node:assert/strict";
import { test } from "node:test";
import { decideRestart, freshHistory } from "./restart-policy.ts";

test("[CM9] a child that keeps dying waits longer each time, up to a cap", () => {
  const waits: number[] = [];
  let history = freshHistory;
  for (let death = 0; death < 10; death += 1) {
    const decision = decideRestart(history, 50);
    history = decision.history;
    waits.push(decision.waitMs);
  }
  assert.deepEqual(waits, [100, 200, 400, 800, 1600, 3200, 5_000, 5_000, 5_000, 5_000]);
});

test("[CM9] a child that ran well starts again at once", () => {
  assert.equal(decideRestart({ failures: 9 }, 5_000).waitMs, 100);
});
