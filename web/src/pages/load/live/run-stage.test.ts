import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunPhase, RunStatus, RunUpdate } from "../../../api/load-types.ts";
import { type RunStage, stageIndex, stageOf } from "./run-stage.ts";

const cases: readonly [RunStatus, RunPhase, RunStage, RunUpdate["enrichment_status"]?][] = [
  ["PREPARED", "", "prepared"],
  ["RUNNING", "", "starting"],
  ["RUNNING", "PREPARING", "starting"],
  ["RUNNING", "WARMUP", "warming"],
  ["RUNNING", "MEASUREMENT", "measuring"],
  ["RUNNING", "COOLDOWN", "stopping"],
  ["STOPPING", "COOLDOWN", "stopping"],
  ["STOPPING", "PROCESSING", "stopping"],
  ["CANCELLING", "MEASUREMENT", "cancelling"],
  ["COMPLETED", "PROCESSING", "processing", "PENDING"],
  ["COMPLETED", "PROCESSING", "processing", "RUNNING"],
  ["COMPLETED", "PROCESSING", "ended", "SKIPPED"],
  ["CANCELLED", "COOLDOWN", "processing", "PENDING"],
  ["FAILED", "PREPARING", "ended"],
  ["CANCELLED", "", "ended"],
];
for (const [status, phase, want, enrichment = null] of cases) {
  test(`[WEB51] ${status} in ${phase || "no phase"} (${enrichment}) is ${want}`, () => {
    assert.equal(stageOf({ status, phase, enrichment_status: enrichment }), want);
  });
}

test("[WEB51] stages are in order", () => {
  const order: readonly RunStage[] = ["prepared", "starting", "warming", "measuring", "cancelling"];
  assert.deepEqual(order.map(stageIndex), [-1, 0, 1, 2, 3]);
  assert.equal(stageIndex("processing"), 4);
  assert.equal(stageIndex("ended"), 5);
});
