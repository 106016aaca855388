/**
 * Every pair of state and event, as a table. The types make it complete: a new state or event does
 * not compile until it has its cells.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssertionError } from "../../../kernel/errors.ts";
import { keyOf } from "./messages.ts";
import {
  commandText,
  incarnation,
  sampleArtifact,
  sampleSpec,
  workerId,
} from "./testing/samples.ts";
import {
  defaultWorkLimits,
  isHeldBack,
  type LiveWork,
  newWork,
  stepWork,
  type Work,
  type WorkEffect,
  type WorkEvent,
  type WorkHistory,
  type WorkState,
} from "./work.ts";

const a = workerId("a");
const b = workerId("b");
const spec = sampleSpec("q", "w");
const key = keyOf(spec);
const artifact = sampleArtifact(spec);
const answer = new Uint8Array([1]);

// The item is in its second attempt, on worker a; the first was on b.
const history: WorkHistory = { attempt: 2, starts: 2, losses: [], avoid: [] };
const states: Record<WorkState, Work> = {
  queued: { state: "queued", spec, history },
  assigned: { state: "assigned", spec, history: { ...history, starts: 1 }, workerId: a },
  running: { state: "running", spec, history, workerId: a },
  ready: { state: "ready", spec, history, workerId: a, artifact },
  committed: { state: "committed", spec, attempt: 2, workerId: a },
  failed: { state: "failed", spec, code: "bad_sql", message: "no such table" },
  cancelled: { state: "cancelled", spec },
};

type Row = Record<LiveWork["state"] | "ended", string> & { readonly event: WorkEvent };
/** The rows for each kind of event: its variants by attempt, worker and detail. */
type Table = { readonly [Kind in WorkEvent["kind"]]: Readonly<Record<string, Row>> };

const current = { key, workerId: a, attempt: 2 };
const stale = { key, workerId: b, attempt: 1 };
const impostor = { key, workerId: b, attempt: 2 };
const retryable = { code: "disk_full", message: "no space", retryable: true };
const final = { code: "bad_sql", message: "no such table", retryable: false };
const lostFetch = { code: "artifact_lost", message: "404" };

/** Nothing happens, in any state. */
const ignored = { queued: "=", assigned: "=", running: "=", ready: "=", ended: "=" };

/** A cell is the next state and the effects; `=` is the same state and none, `bug` an assertion. */
const table: Table = {
  assign: {
    "": {
      event: { kind: "assign", workerId: b },
      queued: "assigned b:assign#3",
      assigned: "bug",
      running: "bug",
      ready: "bug",
      ended: "=",
    },
  },
  workAccepted: {
    current: {
      ...ignored,
      event: { kind: "workAccepted", ...current },
      assigned: "running accepted#2",
    },
    stale: { ...ignored, event: { kind: "workAccepted", ...stale } },
    impostor: { ...ignored, event: { kind: "workAccepted", ...impostor } },
  },
  workRejected: {
    current: {
      ...ignored,
      event: { kind: "workRejected", ...current, reason: "queue_full" },
      assigned: "queued moved:rejected",
      running: "queued moved:rejected",
    },
    stale: { ...ignored, event: { kind: "workRejected", ...stale, reason: "draining" } },
    impostor: { ...ignored, event: { kind: "workRejected", ...impostor, reason: "draining" } },
  },
  workReady: {
    current: {
      event: { kind: "workReady", ...current, artifact },
      queued: "queued a:ack#2",
      assigned: "ready fetch#2",
      running: "ready fetch#2",
      ready: "=",
      ended: "same a:ack#2",
    },
    stale: {
      event: { kind: "workReady", ...stale, artifact },
      queued: "queued b:ack#1",
      assigned: "assigned b:ack#1",
      running: "running b:ack#1",
      ready: "ready b:ack#1",
      ended: "same b:ack#1",
    },
    impostor: {
      event: { kind: "workReady", ...impostor, artifact },
      queued: "queued b:ack#2",
      assigned: "assigned b:ack#2",
      running: "running b:ack#2",
      ready: "ready b:ack#2",
      ended: "same b:ack#2",
    },
  },
  workAnswered: {
    current: {
      ...ignored,
      event: { kind: "workAnswered", ...current, answer },
      assigned: "committed commit#2(answer)",
      running: "committed commit#2(answer)",
    },
    stale: { ...ignored, event: { kind: "workAnswered", ...stale, answer } },
    impostor: { ...ignored, event: { kind: "workAnswered", ...impostor, answer } },
  },
  workFailed: {
    "current, retryable": {
      ...ignored,
      event: { kind: "workFailed", ...current, ...retryable },
      assigned: "queued moved:work_failed",
      running: "queued moved:work_failed",
      ready: "queued abortFetch#2 moved:work_failed",
    },
    "current, final": {
      ...ignored,
      event: { kind: "workFailed", ...current, ...final },
      assigned: "failed(bad_sql)",
      running: "failed(bad_sql)",
      ready: "failed(bad_sql) abortFetch#2",
    },
    stale: { ...ignored, event: { kind: "workFailed", ...stale, ...final } },
    impostor: { ...ignored, event: { kind: "workFailed", ...impostor, ...final } },
  },
  fetched: {
    current: {
      ...ignored,
      event: { kind: "fetched", attempt: 2 },
      ready: "committed commit#2 a:ack#2",
    },
    stale: { ...ignored, event: { kind: "fetched", attempt: 1 } },
  },
  fetchFailed: {
    lost: {
      ...ignored,
      event: { kind: "fetchFailed", attempt: 2, ...lostFetch },
      ready: "queued a:ack#2 moved:fetch_failed",
    },
    "own disk full": {
      ...ignored,
      event: { kind: "fetchFailed", attempt: 2, code: "disk_full", message: "no space" },
      ready: "failed(disk_full) a:ack#2",
    },
    stale: { ...ignored, event: { kind: "fetchFailed", attempt: 1, ...lostFetch } },
  },
  workerDraining: {
    holder: {
      ...ignored,
      event: { kind: "workerDraining", workerId: a },
      assigned: "queued a:cancel#2 moved:worker_draining",
    },
    other: { ...ignored, event: { kind: "workerDraining", workerId: b } },
  },
  workerLost: {
    holder: {
      ...ignored,
      event: { kind: "workerLost", workerId: a, incarnation: incarnation("a1"), survived: false },
      assigned: "queued moved:worker_lost",
      running: "queued moved:worker_lost",
      ready: "queued abortFetch#2 moved:worker_lost",
    },
    "holder, which survived": {
      ...ignored,
      event: { kind: "workerLost", workerId: a, incarnation: incarnation("a1"), survived: true },
      assigned: "queued moved:worker_lost",
      running: "queued moved:worker_lost",
      ready: "queued abortFetch#2 moved:worker_lost",
    },
    other: {
      ...ignored,
      event: { kind: "workerLost", workerId: b, incarnation: incarnation("b1"), survived: false },
    },
  },
  workerReturned: {
    "without a loss": {
      ...ignored,
      event: { kind: "workerReturned", workerId: b, incarnation: incarnation("b1") },
    },
  },
  cancel: {
    "": {
      event: { kind: "cancel" },
      queued: "cancelled",
      assigned: "cancelled a:cancel#2",
      running: "cancelled a:cancel#2",
      ready: "cancelled abortFetch#2 a:cancel#2",
      ended: "=",
    },
  },
};

function effectText(effect: WorkEffect): string {
  switch (effect.kind) {
    case "send":
      return `${effect.workerId}:${commandText(effect.command)}`;
    case "workCommitted":
      return `commit#${effect.attempt}${effect.answer === undefined ? "" : "(answer)"}`;
    case "reassigned":
      return `moved:${effect.reason}`;
    case "fetch":
    case "abortFetch":
    case "accepted":
      return `${effect.kind}#${effect.attempt}`;
  }
}

function cellText(before: Work, event: WorkEvent): string {
  try {
    const [after, effects] = stepWork(before, event);
    if (after === before && effects.length === 0) return "=";
    const isEnded = !(before.state in ignored);
    const name = after.state === "failed" ? `failed(${after.code})` : after.state;
    const stateText = isEnded && after === before ? "same" : name;
    return [stateText, ...effects.map(effectText)].join(" ");
  } catch (thrown) {
    assert(thrown instanceof AssertionError);
    return "bug";
  }
}

for (const [kind, rows] of Object.entries(table)) {
  for (const [variant, row] of Object.entries<Row>(rows)) {
    for (const work of Object.values(states)) {
      const name = variant === "" ? kind : `${kind} (${variant})`;
      test(`[WC4, WC5, WC6] ${work.state}, ${name}`, () => {
        assert.equal(row.event.kind, kind);
        const isEnded = !(work.state in ignored);
        const want = isEnded ? row.ended : row[work.state as LiveWork["state"]];
        assert.equal(cellText(work, row.event), want);
      });
    }
  }
}

/** Steps through `events` and returns the last state. */
function play(from: Work, ...events: readonly WorkEvent[]): Work {
  return events.reduce<Work>((work, event) => stepWork(work, event)[0], from);
}

function historyOf(work: Work): WorkHistory {
  assert("history" in work, `${work.state} is live`);
  return work.history;
}

const acceptedBy = (worker: typeof a, attempt: number): WorkEvent => ({
  kind: "workAccepted",
  key,
  workerId: worker,
  attempt,
});
const lostBy = (worker: typeof a, run: string): WorkEvent => ({
  kind: "workerLost",
  workerId: worker,
  incarnation: incarnation(run),
  survived: false,
});
const assignTo = (worker: typeof a): WorkEvent => ({ kind: "assign", workerId: worker });

test("[WC6] an accepted assignment carries the spec, and its attempt is one more than the last", () => {
  const [next, effects] = stepWork(newWork(spec), assignTo(a));
  assert.equal(historyOf(next).attempt, 1);
  assert.deepEqual(effects, [
    { kind: "send", workerId: a, command: { kind: "assignWork", work: spec, attempt: 1 } },
  ]);
});

test("[WC7] an attempt counts when it is accepted, once, however the acceptance shows", () => {
  const assigned = play(newWork(spec), assignTo(a));
  assert.equal(historyOf(assigned).starts, 0);
  assert.equal(historyOf(play(assigned, acceptedBy(a, 1))).starts, 1);
  assert.equal(historyOf(play(assigned, acceptedBy(a, 1), acceptedBy(a, 1))).starts, 1);
  const ready: WorkEvent = { kind: "workReady", key, workerId: a, attempt: 1, artifact };
  assert.equal(historyOf(play(assigned, ready)).starts, 1);
  assert.equal(historyOf(play(assigned, acceptedBy(a, 1), ready)).starts, 1);
});

test("[WC7] rejections and losses before acceptance never use up attempts", () => {
  let work: Work = newWork(spec);
  for (let attempt = 1; attempt <= 100; attempt += 1) {
    const back: WorkEvent = {
      kind: "workerReturned",
      workerId: a,
      incarnation: incarnation(`a${attempt}`),
    };
    work =
      attempt % 2 === 0
        ? play(work, assignTo(a), {
            kind: "workRejected",
            key,
            workerId: a,
            attempt,
            reason: "queue_full",
          })
        : play(work, assignTo(a), lostBy(a, `a${attempt}`), back);
  }
  assert.equal(work.state, "queued");
  assert.deepEqual(historyOf(work), { attempt: 100, starts: 0, losses: [], avoid: [] });
});

for (const [lastCode, code] of [
  ["disk_full", "disk_full"],
  ["store_unavailable", "store_unavailable"],
  ["artifact_lost", "query_failed"],
] as const) {
  test(`[WC7] the eighth accepted attempt that fails is the last: ${lastCode}`, () => {
    let work: Work = newWork(spec);
    for (let attempt = 1; attempt <= 8; attempt += 1) {
      assert.equal(work.state, "queued");
      const reason = { ...retryable, code: attempt === 8 ? lastCode : "overloaded" };
      const failure: WorkEvent = { kind: "workFailed", key, workerId: a, attempt, ...reason };
      work = play(work, assignTo(a), acceptedBy(a, attempt), failure);
    }
    assert(work.state === "failed");
    assert.equal(work.code, code);
    assert.match(work.message, /after 8 attempts; the last one on a: no space/);
  });
}

test("[WC8] an item that was running on two workers when they went down is poisonous", () => {
  const once = play(newWork(spec), assignTo(a), acceptedBy(a, 1), lostBy(a, "a1"));
  assert.deepEqual(historyOf(once).losses, [{ workerId: a, incarnation: "a1", proven: true }]);
  const twice = play(once, assignTo(b), acceptedBy(b, 2), lostBy(b, "b1"));
  assert(twice.state === "failed");
  assert.equal(twice.code, "work_poisonous");
  assert.match(twice.message, /running on 2 workers when they went down \(a, b\)/);
});

test("[WC8] the same worker may die twice: two incarnations are two losses", () => {
  const once = play(newWork(spec), assignTo(a), acceptedBy(a, 1), lostBy(a, "a1"));
  const twice = play(once, assignTo(a), acceptedBy(a, 2), lostBy(a, "a2"));
  assert.equal(twice.state, "failed");
});

test("[WC8] a loss after the execution finished is not held against the item", () => {
  const finished = play(
    newWork(spec),
    assignTo(a),
    acceptedBy(a, 1),
    { kind: "workReady", key, workerId: a, attempt: 1, artifact },
    lostBy(a, "a1"),
  );
  assert.deepEqual(historyOf(finished).losses, []);
});

test("[WC34] a loss before acceptance is a suspicion, and two hold the item back", () => {
  const once = play(newWork(spec), assignTo(a), lostBy(a, "a1"));
  assert.deepEqual(historyOf(once).losses, [{ workerId: a, incarnation: "a1", proven: false }]);
  assert(once.state === "queued" && !isHeldBack(once, defaultWorkLimits));
  const twice = play(once, assignTo(b), acceptedBy(b, 2), lostBy(b, "b1"));
  assert(twice.state === "queued" && isHeldBack(twice, defaultWorkLimits));
});

test("[WC34] what is held back fails when a suspect returns as another, and goes on when it returns as itself", () => {
  const twice = play(newWork(spec), assignTo(a), lostBy(a, "a1"), assignTo(b), lostBy(b, "b1"));
  const returned = (workerId: typeof a, name: string): WorkEvent => {
    return { kind: "workerReturned", workerId, incarnation: incarnation(name) };
  };
  const halfProven = play(twice, returned(a, "a2"));
  assert(halfProven.state === "queued" && isHeldBack(halfProven, defaultWorkLimits));
  const proven = play(halfProven, returned(b, "b2"));
  assert(proven.state === "failed" && proven.code === "work_poisonous");
  const forgiven = play(halfProven, returned(b, "b1"));
  assert(forgiven.state === "queued" && !isHeldBack(forgiven, defaultWorkLimits));
});

test("[WC8] a loss is forgiven when the same incarnation returns, in any live state", () => {
  const loss = { workerId: b, incarnation: incarnation("b1"), proven: true };
  const lossy = { ...history, losses: [loss] };
  const returned: WorkEvent = {
    kind: "workerReturned",
    workerId: b,
    incarnation: incarnation("b1"),
  };
  for (const work of Object.values(states)) {
    if (!("history" in work)) continue;
    const suspect: Work = { ...work, history: lossy };
    assert.deepEqual(historyOf(play(suspect, returned)).losses, []);
    const reborn: WorkEvent = { ...returned, incarnation: incarnation("b2") };
    assert.equal(play(suspect, reborn), suspect);
    assert.equal(play(suspect, { ...returned, workerId: a }), suspect);
  }
});

test("[WC9] workers where an attempt or its fetch failed are remembered, each once", () => {
  let work: Work = newWork(spec);
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    const failure: WorkEvent = { kind: "workFailed", key, workerId: a, attempt, ...retryable };
    work = play(work, assignTo(a), acceptedBy(a, attempt), failure);
  }
  assert.deepEqual(historyOf(work).avoid, [a]);
  work = play(
    work,
    assignTo(b),
    { kind: "workReady", key, workerId: b, attempt: 4, artifact },
    { kind: "fetchFailed", attempt: 4, ...lostFetch },
  );
  assert.deepEqual(historyOf(work).avoid, [a, b]);
});
