import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunPhase, RunStatus, RunUpdate } from "../../../api/gen/types.ts";
import { cancellationToast } from "./cancellation.ts";
import { type RunStage, stageIndex, stageOf, stages } from "./run-stage.ts";

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

test("[WEB51] MEASUREMENT is shown as Running", () => {
  assert.equal(stages.find(({ stage }) => stage === "measuring")?.word, "Running");
});

test("[WEB56] why a run is stopped is told once, when it becomes known", () => {
  const running = { status: "RUNNING", cancellation_reason: null } as const;
  const reason = "Guardrail triggered: errors";
  const failing = { status: "CANCELLING", cancellation_reason: reason } as const;
  assert.deepEqual(cancellationToast(running, failing), {
    title: "The run is being stopped",
    message: reason,
  });
  assert.equal(cancellationToast(failing, failing), undefined);
  assert.equal(cancellationToast(running, running), undefined);
  assert.equal(cancellationToast(undefined, failing), undefined);
});
