import assert from "node:assert/strict";
import { test } from "node:test";
import type { HeldId } from "./held-work.ts";
import { keyOf, type WorkSpec } from "./messages.ts";
import { sampleArtifact, sampleSpec } from "./testing/samples.ts";
import { type LedgerEffect, type LedgerLimits, WorkLedger } from "./work-ledger.ts";

const [w1, w2, w3, w4, w5] = ["w1", "w2", "w3", "w4", "w5"].map((name) =>
  sampleSpec("q", name),
) as [WorkSpec, WorkSpec, WorkSpec, WorkSpec, WorkSpec];

/** Drives a ledger, and shows its effects as short texts. */
class LedgerDriver {
  readonly ledger: WorkLedger;

  constructor(limits: LedgerLimits = { slots: 1, queueMax: 2 }) {
    this.ledger = new WorkLedger(limits);
  }
  assign(work: WorkSpec, attempt = 1, session = "s"): string[] {
    return effectTexts(this.ledger.step({ kind: "assignWork", session, work, attempt }));
  }
  cancel(work: WorkSpec, attempt = 1, session = "s"): string[] {
    return effectTexts(
      this.ledger.step({ kind: "cancelWork", session, key: keyOf(work), attempt }),
    );
  }
  ack(work: WorkSpec, attempt = 1, session = "s"): string[] {
    return effectTexts(
      this.ledger.step({ kind: "ackArtifact", session, key: keyOf(work), attempt }),
    );
  }
  lose(session = "s"): string[] {
    return effectTexts(this.ledger.step({ kind: "sessionLost", session }));
  }
  executed(id: HeldId): string[] {
    const artifact = sampleArtifact(w1);
    return effectTexts(this.ledger.step({ kind: "executed", id, artifact }));
  }
  failed(id: HeldId): string[] {
    const problem = { code: "bad_sql", message: "no such table", retryable: false };
    return effectTexts(this.ledger.step({ kind: "executionFailed", id, ...problem }));
  }
  expired(id: HeldId): string[] {
    return effectTexts(this.ledger.step({ kind: "expired", id }));
  }
  evicted(id: HeldId): string[] {
    return effectTexts(this.ledger.step({ kind: "evicted", id }));
  }
  drain(draining = true): string[] {
    return effectTexts(this.ledger.step({ kind: "setDraining", draining }));
  }
  setAccepting(accepting: boolean): string[] {
    return effectTexts(this.ledger.step({ kind: "setAccepting", accepting }));
  }
}

function effectTexts(effects: readonly LedgerEffect[]): string[] {
  return effects.map(effectText);
}

function effectText(effect: LedgerEffect): string {
  switch (effect.kind) {
    case "report": {
      const { report } = effect;
      const detail = report.kind === "workRejected" ? `, ${report.reason}` : "";
      return `${effect.session}:${report.kind}#${report.attempt}(${report.key.workId}${detail})`;
    }
    case "startExecution":
      return `start ${effect.id}`;
    case "abortExecution":
      return `abort ${effect.id}`;
    case "keepArtifact":
      return effect.acked ? `keep ${effect.id} acked` : `keep ${effect.id}`;
    case "deleteArtifact":
      return `delete ${effect.id}`;
    case "admissionChanged": {
      const { accepting, draining } = effect.admission;
      return `admission${accepting ? " accepting" : ""}${draining ? " draining" : ""}`;
    }
    case "drained":
      return "drained";
  }
}

test("[WC28, WC30] one item, from assignment to deletion", () => {
  const ledger = new LedgerDriver();
  assert.deepEqual(ledger.assign(w1), ["s:workAccepted#1(w1)", "start 1"]);
  assert.deepEqual(ledger.executed(1), ["keep 1", "s:workReady#1(w1)"]);
  assert.deepEqual(ledger.ack(w1), ["keep 1 acked"]);
  assert.deepEqual(ledger.ack(w1), []);
  assert.deepEqual(ledger.expired(1), ["delete 1"]);
  assert.deepEqual(ledger.expired(1), []);
  assert.deepEqual(ledger.ledger.snapshot(), []);
});

test("[WC22, WC25, WC26] slots, then the queue, then rejection; freed slots are filled in order", () => {
  const ledger = new LedgerDriver({ slots: 2, queueMax: 2 });
  assert.deepEqual(ledger.assign(w1), ["s:workAccepted#1(w1)", "start 1"]);
  assert.deepEqual(ledger.assign(w2, 1, "t"), ["t:workAccepted#1(w2)", "start 2"]);
  assert.deepEqual(ledger.assign(w3), ["s:workAccepted#1(w3)"]);
  assert.deepEqual(ledger.assign(w4, 1, "t"), ["t:workAccepted#1(w4)", "admission"]);
  assert.deepEqual(ledger.assign(w5), ["s:workRejected#1(w5, queue_full)"]);
  assert.deepEqual(ledger.failed(2), ["t:workFailed#1(w2)", "start 3", "admission accepting"]);
  assert.deepEqual(ledger.failed(1), ["s:workFailed#1(w1)", "start 4"]);
  assert.deepEqual(ledger.ledger.counts(), {
    queued: 0,
    executing: 2,
    aborting: 0,
    ready: 0,
    acked: 0,
  });
});

test("[WC26] a worker that was full accepts again when half of its queue is free, and takes what fits until then", () => {
  const ledger = new LedgerDriver({ slots: 1, queueMax: 4 });
  const works = Array.from({ length: 5 }, (_, index) => sampleSpec("q", `x${index}`));
  const texts = works.map((work) => ledger.assign(work).at(-1));
  assert.equal(texts.at(-1), "admission");
  assert.deepEqual(ledger.failed(1), ["s:workFailed#1(x0)", "start 2"]);
  assert.deepEqual(ledger.assign(w1), ["s:workAccepted#1(w1)"]);
  ledger.failed(2);
  assert.deepEqual(ledger.failed(3).at(-1), "admission accepting");
});

test("[WC26] without a queue the worker accepts while a slot is free", () => {
  const ledger = new LedgerDriver({ slots: 1, queueMax: 0 });
  assert.deepEqual(ledger.assign(w1), ["s:workAccepted#1(w1)", "start 1", "admission"]);
  assert.deepEqual(ledger.assign(w2), ["s:workRejected#1(w2, queue_full)"]);
  assert.deepEqual(ledger.executed(1), ["keep 1", "s:workReady#1(w1)", "admission accepting"]);
});

test("[WC26] reasons of the worker's own", () => {
  const ledger = new LedgerDriver();
  assert.deepEqual(ledger.setAccepting(false), ["admission"]);
  assert.deepEqual(ledger.setAccepting(false), []);
  assert.deepEqual(ledger.assign(w1), ["s:workRejected#1(w1, not_accepting)"]);
  assert.deepEqual(ledger.drain(), ["admission draining", "drained"]);
  assert.deepEqual(ledger.drain(false), ["admission"]);
  assert.deepEqual(ledger.setAccepting(true), ["admission accepting"]);
  assert.deepEqual(ledger.ledger.admission(), { accepting: true, draining: false });
});

test("[WC29] cancelled before execution: it never starts", () => {
  const ledger = new LedgerDriver();
  ledger.assign(w1);
  ledger.assign(w2);
  assert.deepEqual(ledger.cancel(w2), []);
  assert.deepEqual(ledger.failed(1), ["s:workFailed#1(w1)"]);
});

test("[WC29] cancelled while executing: aborted, unreported, and its slot is free when the execution ended", () => {
  const ledger = new LedgerDriver();
  ledger.assign(w1);
  ledger.assign(w2);
  assert.deepEqual(ledger.cancel(w1), ["abort 1"]);
  assert.deepEqual(ledger.cancel(w1), []);
  assert.equal(ledger.ledger.counts().aborting, 1);
  assert.deepEqual(ledger.failed(1), ["start 2"]);
});

test("[WC29] cancelled while executing, too late: what was produced is deleted", () => {
  const ledger = new LedgerDriver();
  ledger.assign(w1);
  ledger.cancel(w1);
  assert.deepEqual(ledger.executed(1), ["delete 1"]);
});

test("[WC29] cancelled after execution: the artifact goes at once", () => {
  const ledger = new LedgerDriver();
  ledger.assign(w1);
  ledger.executed(1);
  assert.deepEqual(ledger.cancel(w1), ["delete 1"]);
  assert.deepEqual(ledger.ack(w1), []);
});

test("[WC29] a cancel or an ack of another attempt or session changes nothing", () => {
  const ledger = new LedgerDriver();
  ledger.assign(w1, 2);
  assert.deepEqual(ledger.cancel(w1, 1), []);
  assert.deepEqual(ledger.cancel(w1, 3), []);
  assert.deepEqual(ledger.cancel(w1, 2, "t"), []);
  ledger.executed(1);
  assert.deepEqual(ledger.ack(w1, 1), []);
  assert.deepEqual(ledger.ack(w1, 2, "t"), []);
  assert.equal(ledger.ledger.counts().ready, 1);
});

test("[WC23] a lost session takes all it owned with it, and nothing of others", () => {
  const ledger = new LedgerDriver({ slots: 3, queueMax: 2 });
  ledger.assign(w1);
  ledger.executed(1);
  ledger.assign(w2);
  ledger.executed(2);
  ledger.ack(w2);
  ledger.assign(w3);
  ledger.assign(w1, 1, "t");
  ledger.assign(w2, 1, "t");
  ledger.assign(w4);
  assert.deepEqual(ledger.lose("s"), ["delete 1", "delete 2", "abort 3"]);
  assert.deepEqual(ledger.lose("s"), []);
  assert.deepEqual(
    ledger.ledger.snapshot().map(({ id, session, state }) => `${session}:${id} ${state}`),
    ["s:3 aborting", "t:4 executing", "t:5 executing"],
  );
  assert.deepEqual(ledger.failed(3), []);
});

test("[WC23] the next session of the same controller starts afresh while the old execution still ends", () => {
  const ledger = new LedgerDriver({ slots: 2, queueMax: 0 });
  ledger.assign(w1, 1, "s1");
  ledger.lose("s1");
  assert.deepEqual(ledger.assign(w1, 2, "s2"), ["s2:workAccepted#2(w1)", "start 2", "admission"]);
  assert.deepEqual(ledger.executed(1), ["delete 1", "admission accepting"]);
  assert.deepEqual(ledger.executed(2), ["keep 2", "s2:workReady#2(w1)"]);
});

test("[WC24] the same assignment again repeats the answer and executes nothing", () => {
  const ledger = new LedgerDriver();
  ledger.assign(w1);
  assert.deepEqual(ledger.assign(w1), ["s:workAccepted#1(w1)"]);
  ledger.executed(1);
  assert.deepEqual(ledger.assign(w1), ["s:workAccepted#1(w1)", "s:workReady#1(w1)"]);
  ledger.drain();
  assert.deepEqual(ledger.assign(w1), ["s:workAccepted#1(w1)", "s:workReady#1(w1)"]);
});

test("[WC24] a newer attempt takes the place of the older, in every state", () => {
  const ledger = new LedgerDriver({ slots: 1, queueMax: 3 });
  ledger.assign(w1, 1);
  ledger.assign(w2, 1);
  assert.deepEqual(ledger.assign(w2, 2), ["s:workAccepted#2(w2)"]);
  assert.deepEqual(ledger.assign(w1, 2), ["abort 1", "s:workAccepted#2(w1)"]);
  assert.deepEqual(ledger.executed(1), ["delete 1", "start 3"]);
  assert.deepEqual(ledger.executed(3), ["keep 3", "s:workReady#2(w2)", "start 4"]);
  assert.deepEqual(ledger.assign(w2, 3), ["delete 3", "s:workAccepted#3(w2)"]);
  ledger.executed(4);
  ledger.ack(w1, 2);
  assert.deepEqual(ledger.assign(w1, 3), ["delete 4", "s:workAccepted#3(w1)"]);
});

test("[WC24] an older attempt is ignored, and a newer one is let in or rejected like any other", () => {
  const ledger = new LedgerDriver();
  ledger.assign(w1, 2);
  assert.deepEqual(ledger.assign(w1, 1), []);
  ledger.drain();
  assert.deepEqual(ledger.assign(w1, 3), ["abort 1", "s:workRejected#3(w1, draining)"]);
});

test("[WC27] draining rejects what is new, finishes what was accepted, and says when it is done", () => {
  const ledger = new LedgerDriver();
  ledger.assign(w1);
  ledger.assign(w2);
  assert.deepEqual(ledger.drain(), ["admission draining"]);
  assert.deepEqual(ledger.drain(), []);
  assert.deepEqual(ledger.assign(w3), ["s:workRejected#1(w3, draining)"]);
  assert.deepEqual(ledger.executed(1), ["keep 1", "s:workReady#1(w1)", "start 2"]);
  assert.deepEqual(ledger.ack(w1), ["keep 1 acked"]);
  assert.deepEqual(ledger.executed(2), ["keep 2", "s:workReady#1(w2)"]);
  assert.deepEqual(ledger.ack(w2), ["keep 2 acked", "drained"]);
  assert.deepEqual(ledger.expired(1), ["delete 1"]);
});

test("[WC27] draining ends also by cancellation, loss of the session or expiry, and can be taken back", () => {
  const ledger = new LedgerDriver({ slots: 2, queueMax: 1 });
  ledger.assign(w1);
  ledger.assign(w2, 1, "t");
  ledger.executed(2);
  ledger.drain();
  assert.deepEqual(ledger.lose("s"), ["abort 1"]);
  assert.deepEqual(ledger.failed(1), []);
  assert.deepEqual(ledger.expired(2), ["delete 2", "t:workFailed#1(w2)", "drained"]);
  assert.deepEqual(ledger.drain(false), ["admission accepting"]);
  assert.deepEqual(ledger.assign(w3), ["s:workAccepted#1(w3)", "start 3"]);
  assert.deepEqual(ledger.drain(), ["admission draining"]);
  ledger.cancel(w3);
  assert.deepEqual(ledger.failed(3), ["drained"]);
});

test("[WC30] an artifact that goes before it was fetched is reported as lost; one that was fetched is not", () => {
  const ledger = new LedgerDriver({ slots: 3, queueMax: 1 });
  for (const work of [w1, w2, w3]) ledger.assign(work);
  for (const id of [1, 2, 3]) ledger.executed(id);
  ledger.ack(w3);
  assert.deepEqual(ledger.evicted(1), ["delete 1", "s:workFailed#1(w1)"]);
  assert.deepEqual(ledger.expired(2), ["delete 2", "s:workFailed#1(w2)"]);
  assert.deepEqual(ledger.evicted(3), ["delete 3"]);
  assert.deepEqual(ledger.evicted(99), []);
});
