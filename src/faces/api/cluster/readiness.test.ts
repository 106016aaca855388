import assert from "node:assert/strict";
import { test } from "node:test";
import { HealthBoard } from "../../../ground/kernel/health.ts";
import { VirtualClock } from "../../../ground/kernel/testing/virtual-clock.ts";
import { decideReadiness } from "./readiness.ts";

test("[AP1] a part that failed is named; only a vital one costs the readiness", () => {
  const clock = new VirtualClock();
  const health = new HealthBoard({ clock });
  const log = health.part("listing");
  const store = health.part("store", { vital: true });
  assert.equal(decideReadiness("leader", health).ready, true);
  log.failed("1-000001.wal is damaged at byte 7");
  const degraded = decideReadiness("leader", health);
  assert.equal(degraded.ready, true);
  assert.deepEqual(degraded.parts[0], {
    name: "listing",
    state: "failed",
    reason: "1-000001.wal is damaged at byte 7",
    since_ms: clock.wallMs(),
    vital: false,
  });
  store.degraded("nobody can write");
  assert.equal(decideReadiness("query_api", health).ready, true);
  store.failed("its directory is gone");
  for (const role of ["leader", "query_api", "standby"] as const) {
    const { ready, reason, parts } = decideReadiness(role, health);
    assert.equal(ready, false);
    assert.equal(reason, "store: its directory is gone");
    assert.equal(parts.length, 2);
  }
  store.ok();
  const standby = decideReadiness("standby", health);
  assert.equal(standby.ready, false);
  assert.equal(standby.reason, "this coordinator does not hold the lease");
});
