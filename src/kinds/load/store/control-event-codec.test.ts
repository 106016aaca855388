import assert from "node:assert/strict";
import { test } from "node:test";
import type { ControlEvent } from "../core/control-events.ts";
import { testWorker } from "../testing/ids.ts";
import { decodeEvent, decodeTargets, encodeEvent, encodeTargets } from "./control-event-codec.ts";

const target = { connections: 4, qps: 2.5, stepId: "r/1", stepNumber: 1 };
const ofTarget = '"target_connections":4,"target_qps":2.5,"step_id":"r/1","step_number":1';
const at = "1970-01-01T00:16:40.123Z";

const cases: readonly { readonly event: ControlEvent; readonly stored: string }[] = [
  {
    event: { type: "START", to: { scope: "RUN" }, expectedWorkers: 2 },
    stored: '{"scope":"RUN","expected_workers":2}',
  },
  {
    event: {
      type: "STOP",
      to: { scope: "RUN" },
      reason: "user_requested",
      initiatedBy: "api",
      drainMs: 120_000,
      atMs: 1_000_123,
    },
    stored: `{"scope":"RUN","reason":"user_requested","initiated_by":"api","drain_timeout_seconds":120,"effective_at":"${at}"}`,
  },
  {
    event: {
      type: "STOP",
      to: { scope: "RUN" },
      reason: "guardrail",
      initiatedBy: "orchestrator",
      drainMs: 1_000,
      atMs: null,
    },
    stored:
      '{"scope":"RUN","reason":"guardrail","initiated_by":"orchestrator","drain_timeout_seconds":1}',
  },
  {
    event: { type: "SET_PHASE", to: { scope: "RUN" }, phase: "WARMUP", atMs: null },
    stored: '{"scope":"RUN","phase":"WARMUP","effective_at":null}',
  },
  {
    event: {
      type: "SET_WORKER_TARGET",
      to: { scope: "WORKER", workerId: testWorker("worker-3"), groupId: 3 },
      target,
      rampSeconds: 1.1,
      reason: "stage_1",
      atMs: 1_000_123,
    },
    stored: `{"scope":"WORKER","worker_id":"worker-3","worker_group_id":3,${ofTarget},"effective_at":"${at}","ramp_seconds":1.1,"reason":"stage_1"}`,
  },
  {
    event: {
      type: "SET_PHASE",
      to: { scope: "WORKER_GROUP", groupId: 1 },
      phase: "MEASUREMENT",
      atMs: 1_000_123,
    },
    stored: `{"scope":"WORKER_GROUP","worker_group_id":1,"phase":"MEASUREMENT","effective_at":"${at}"}`,
  },
];

for (const { event, stored } of cases) {
  test(`[CT4] ${event.type} is stored as ever, and read back: ${stored.slice(0, 60)}`, () => {
    const row = encodeEvent(event);
    assert.deepEqual(row, { event_type: event.type, event_data: stored });
    assert.deepEqual(decodeEvent(row), event);
  });
}

test("[CT4] targets are stored by worker, and read back", () => {
  const text = encodeTargets({ "worker-0": target });
  assert.equal(text, `{"worker-0":{${ofTarget}}}`);
  assert.deepEqual(decodeTargets(text), { "worker-0": target });
});
