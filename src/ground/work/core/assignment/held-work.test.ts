/** Every pair of state and event of a held item, as a table that the types make complete. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssertionError } from "../../../kernel/errors.ts";
import {
  acceptWork,
  type HeldEffect,
  type HeldEvent,
  type HeldState,
  type HeldWork,
  stepHeldWork,
} from "./held-work.ts";
import { sampleArtifact, sampleSpec } from "./testing/samples.ts";

const work = sampleSpec("q", "w");
const artifact = sampleArtifact(work);
const held = { id: 7, session: "s1", work, attempt: 2 };

const states: Record<HeldState, HeldWork> = {
  queued: { ...held, state: "queued" },
  executing: { ...held, state: "executing" },
  aborting: { ...held, state: "aborting" },
  ready: { ...held, state: "ready", artifact },
  acked: { ...held, state: "acked", artifact },
  gone: { ...held, state: "gone" },
};

const events: { readonly [Kind in HeldEvent["kind"]]: HeldEvent } = {
  start: { kind: "start" },
  executed: { kind: "executed", artifact },
  answered: { kind: "answered", answer: new Uint8Array() },
  executionFailed: {
    kind: "executionFailed",
    code: "bad_sql",
    message: "no such table",
    retryable: false,
  },
  assignedAgain: { kind: "assignedAgain" },
  letGo: { kind: "letGo" },
  ack: { kind: "ack" },
  expired: { kind: "expired" },
  evicted: { kind: "evicted" },
};

/** A cell is the next state and the effects; `=` is the same state and none, `bug` an assertion. */
const table: Record<HeldEvent["kind"], Record<HeldState, string>> = {
  start: {
    queued: "executing startExecution",
    executing: "bug",
    aborting: "bug",
    ready: "bug",
    acked: "bug",
    gone: "=",
  },
  executed: {
    queued: "bug",
    executing: "ready keepArtifact workReady",
    aborting: "gone deleteArtifact",
    ready: "bug",
    acked: "bug",
    gone: "=",
  },
  answered: {
    queued: "bug",
    executing: "gone workAnswered",
    aborting: "gone",
    ready: "bug",
    acked: "bug",
    gone: "=",
  },
  executionFailed: {
    queued: "bug",
    executing: "gone workFailed(bad_sql)",
    aborting: "gone",
    ready: "bug",
    acked: "bug",
    gone: "=",
  },
  assignedAgain: {
    queued: "queued workAccepted",
    executing: "executing workAccepted",
    aborting: "=",
    ready: "ready workAccepted workReady",
    acked: "acked workAccepted workReady",
    gone: "=",
  },
  letGo: {
    queued: "gone",
    executing: "aborting abortExecution",
    aborting: "=",
    ready: "gone deleteArtifact",
    acked: "gone deleteArtifact",
    gone: "=",
  },
  ack: {
    queued: "=",
    executing: "=",
    aborting: "=",
    ready: "acked keepArtifact(acked)",
    acked: "=",
    gone: "=",
  },
  expired: {
    queued: "=",
    executing: "=",
    aborting: "=",
    ready: "gone deleteArtifact workFailed(artifact_lost, retryable)",
    acked: "gone deleteArtifact",
    gone: "=",
  },
  evicted: {
    queued: "=",
    executing: "=",
    aborting: "=",
    ready: "gone deleteArtifact workFailed(artifact_lost, retryable)",
    acked: "gone deleteArtifact",
    gone: "=",
  },
};

function effectText(effect: HeldEffect): string {
  switch (effect.kind) {
    case "report": {
      const { report } = effect;
      assert.equal(effect.session, "s1");
      assert.equal(report.attempt, 2);
      if (report.kind !== "workFailed") return report.kind;
      return `workFailed(${report.code}${report.retryable ? ", retryable" : ""})`;
    }
    case "keepArtifact":
      return effect.acked ? "keepArtifact(acked)" : "keepArtifact";
    case "startExecution":
    case "abortExecution":
    case "deleteArtifact":
      assert.equal(effect.id, 7);
      return effect.kind;
  }
}

function cellText(before: HeldWork, event: HeldEvent): string {
  try {
    const [after, effects] = stepHeldWork(before, event);
    if (after === before && effects.length === 0) return "=";
    return [after.state, ...effects.map(effectText)].join(" ");
  } catch (thrown) {
    assert(thrown instanceof AssertionError);
    return "bug";
  }
}

for (const event of Object.values(events)) {
  for (const state of Object.values(states)) {
    test(`[WC29, WC30] ${state.state}, ${event.kind}`, () => {
      assert.equal(cellText(state, event), table[event.kind][state.state]);
    });
  }
}

test("[WC28] an accepted item waits, and has said so", () => {
  const [item, effects] = acceptWork(7, "s1", work, 2);
  assert.deepEqual(item, states.queued);
  assert.deepEqual(effects.map(effectText), ["workAccepted"]);
});
